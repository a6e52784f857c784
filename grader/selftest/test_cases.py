"""Inputs are seeded, the same in every process; what is kept is computed once, tensors told apart by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.core.judge.cases import MOST_BYTES, MOST_KEPT, Latest, generator, integers, kept, normal, signs, uniform

asked: list[Tensor] = []


@kept
def doubled(x: Tensor) -> Tensor:
    asked.append(x)
    return 2 * x


@kept
def halves(x: Tensor, at: int) -> tuple[Tensor, ...]:
    asked.append(x)
    return x[:at], x[at:]


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    asked.clear()


def test_a_kept_tensor_is_computed_once() -> None:
    sizes = []

    @kept
    def ones(size: int, *, dtype: torch.dtype = torch.float32) -> Tensor:
        """A row of ones."""
        sizes.append(size)
        return torch.ones(size, dtype=dtype)

    assert [ones(2).shape, ones(2).shape, ones(3).shape] == [(2,), (2,), (3,)]
    assert ones(2, dtype=torch.float64).dtype == torch.float64
    assert sizes == [2, 3, 2]
    assert ones.__doc__ == "A row of ones."


@pytest.mark.parametrize(
    "other",
    [
        torch.ones(2, 2).double(),
        torch.ones(2, 2, 1),
        torch.ones(4),
        torch.tensor([[1.0, 1.0], [1.0, -1.0]]),
        torch.tensor([[1.0, 1.0], [1.0, torch.nan]]),
    ],
    ids=["dtype", "shape", "dimensions", "sign", "nan"],
)
def test_other_numbers_give_other_results(other: Tensor) -> None:
    for x in (torch.ones(2, 2), other):
        assert (doubled(x).dtype, doubled(x).shape) == (x.dtype, x.shape)
        assert torch.allclose(doubled(x), 2 * x, equal_nan=True)  # torch.testing imports for a second


def test_where_numbers_lie_does_not_matter() -> None:
    x = torch.arange(6.0).reshape(2, 3) + 0.25
    for same in (x, x.clone(), x.T.contiguous().T, torch.stack((x, x), -1)[..., 0]):
        assert torch.equal(doubled(same), 2 * x)
    assert len(asked) == 1


def test_what_a_caller_changes_no_other_sees() -> None:
    x = torch.arange(5.0) + 0.125
    for part in (doubled(x), *halves(x, 2)):
        part.zero_()
    assert torch.equal(doubled(x), 2 * x)
    assert [part.tolist() for part in halves(x, 2)] == [[0.125, 1.125], [2.125, 3.125, 4.125]]
    assert len(asked) == 2


def test_gradients_flow_through_what_is_not_kept() -> None:
    for x in (torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)):
        doubled(x).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [2, 2, 2]


def test_large_tensors_are_not_looked_up() -> None:
    for x in (torch.zeros(MOST_BYTES // 4 + 1), torch.zeros(MOST_BYTES // 4 + 1)):
        doubled(x)
    assert len(asked) == 2


def test_only_what_was_used_last_is_kept() -> None:
    for number in range(MOST_KEPT + 1):
        doubled(torch.tensor(float(number)))
    doubled(torch.tensor(float(MOST_KEPT)))
    assert len(asked) == MOST_KEPT + 1
    doubled(torch.tensor(0.0))
    assert len(asked) == MOST_KEPT + 2


def test_the_latest_entries_are_those_used_last() -> None:
    latest: Latest[str, int] = Latest(2)
    for number, key in enumerate("abac"):
        assert latest.recall(key) == (0 if number == 2 else None)
        latest.keep(key, number)
    assert dict(latest) == {"a": 2, "c": 3}
    latest.most = 0
    latest.keep("d", 4)
    assert latest.recall("d") is None


@pytest.mark.parametrize(
    "draw",
    [normal, signs, partial(uniform, low=1, high=9), partial(integers, low=1, high=9)],
    ids=["normal", "signs", "uniform", "integers"],
)
def test_another_seed_or_another_key_gives_another_input(draw: Callable[..., Tensor]) -> None:
    drawn = draw(1, "x", 2, shape=(3, 4))
    for other in (draw(2, "x", 2, shape=(3, 4)), draw(1, "x", 3, shape=(3, 4)), draw(1, "y", 2, shape=(3, 4))):
        assert not torch.equal(drawn, other)


def test_the_global_random_numbers_do_not_matter() -> None:
    torch.rand(5)
    assert torch.equal(normal(1, "x", 2, shape=(3, 4)), torch.randn(3, 4, generator=generator(1, "x", 2)))


def test_equal_keys_of_another_type_are_other_keys() -> None:
    assert not torch.equal(normal(1, 1, shape=(4,)), normal(1, True, shape=(4,)))
