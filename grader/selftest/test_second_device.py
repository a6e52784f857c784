"""The simulated device against the CPU, operation by operation: after an upgrade of torch, a test here says what broke.

Each function runs on tensors of either device; the results must be the CPU's, on the right device.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it
from torch import Tensor

from grader.selftest.two_devices import HERE, assert_same, assigned, maker
from grader.shared import second_device
from tests.harness.rubric import TESTS


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    second_device.install()


# Functions of a tensor of shape [2, 3, 8], of every kind that the device treats in its own way; what solutions of the
# assignment are made of is in the variants that are judged there.
OF_ONE_TENSOR: dict[str, Callable[[Tensor], Any]] = {
    "add a number": lambda x: x + 1,
    "add in place": lambda x: x.clone().add_(1),
    "arange of its device": lambda x: torch.arange(0, 8, 2, dtype=torch.float32, device=x.device),
    "as_strided": lambda x: x.as_strided((3, 2), (8, 1), 4),
    "assign a slice": lambda x: assigned(x, (slice(None), 0), 7.0),
    "assign by mask": lambda x: assigned(x, x > 0, 0.0),
    "assign from the CPU": lambda x: assigned(x, (slice(None), 1), torch.ones(2, 8)),
    "bernoulli of certainties": lambda x: torch.bernoulli((x > 0).float()),
    "bool of a reduction": lambda x: torch.tensor(bool((x > 100).any())),
    "cat": lambda x: torch.cat((x, -x), dim=-1),
    "chunk": lambda x: list(x.chunk(2, dim=-1)),
    "complex product": lambda x: (
        torch.view_as_complex(x.unflatten(-1, (4, 2))) * torch.polar(x[..., :4] * 0 + 1, x[..., 4:])
    ),
    "conjugate": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().imag.clone(),
    "conjugate to the CPU": lambda x: torch.view_as_complex(x.unflatten(-1, (4, 2))).conj().cpu().to(x.device),
    "cumsum": lambda x: x.cumsum(-1),
    "detach": lambda x: x.detach() * 2,
    "einsum": lambda x: torch.einsum("bsh,bth->bst", x, x),
    "empty, then filled": lambda x: torch.empty(3, 4, device=x.device).fill_(2),
    "empty_like": lambda x: torch.empty_like(x, dtype=torch.float16).zero_(),
    "floor division": lambda x: torch.arange(7, device=x.device) // 2,
    "full": lambda x: torch.full((2, 2), 3.0, device=x.device),
    "gather": lambda x: x.gather(-1, torch.zeros(2, 3, 2, dtype=torch.long, device=x.device)),
    "group_norm": lambda x: F.group_norm(x.transpose(1, 2), 2),
    "half and back": lambda x: x.half().float(),
    "index by CPU ids": lambda x: x.flatten(0, 1)[torch.tensor([[0, 5], [3, 3]])],
    "index by ids": lambda x: x.flatten(0, 1)[torch.tensor([[0, 5], [3, 3]], device=x.device)],
    "index by mask": lambda x: x[x > 0],
    "layer_norm": lambda x: F.layer_norm(x, (8,)),
    "linear": lambda x: F.linear(x, x[0], x[0, :, 0]),
    "linspace": lambda x: torch.linspace(0, 1, 5, device=x.device),
    "masked_fill": lambda x: x.masked_fill(x < 0, 0.0),
    "matmul": lambda x: x @ x.mT,
    "meshgrid": lambda x: list(torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")),
    "multiply by a tensor that is a number": lambda x: x * torch.tensor(2.0),
    "new_zeros": lambda x: x.new_zeros(2, 2),
    "one_hot": lambda x: F.one_hot(torch.tensor([0, 2], device=x.device), 3),
    "out": lambda x: torch.mul(x, 2, out=torch.empty(0, device=x.device)),
    "pad": lambda x: F.pad(x, (1, 2)),
    "print": lambda x: torch.tensor(len(str(x.cpu())) > 20 and len(str(x)) > 20),
    "promotion": lambda x: x.half() * x.to(torch.bfloat16) + torch.arange(8, device=x.device),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=-1),
    "rms_norm": lambda x: F.rms_norm(x, (8,), eps=1e-5),
    "rotate half": lambda x: torch.cat((-x[..., 4:], x[..., :4]), dim=-1) * x.cos() + x * x.sin(),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "scatter": lambda x: x.scatter(-1, torch.zeros(2, 3, 1, dtype=torch.long, device=x.device), 5.0),
    "sort": lambda x: list(x.sort(-1)),
    "stack": lambda x: torch.stack((x, x), 1),
    "to a dtype and back": lambda x: x.to(torch.bfloat16).to(torch.float64),
    "tolist": lambda x: torch.tensor(x.tolist(), device=x.device),
    "unique": lambda x: (x > 0).long().unique(),
    "view of another dtype": lambda x: x.view(torch.int32) & 1,
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "write through a view": lambda x: _written_through_a_view(x.clone()),
    "zeros_like": torch.zeros_like,
    "nothing in it": lambda x: torch.cat((x[:0], x)).sum() + x[:, :0].sum() + torch.zeros(0, 3, device=x.device).sum(),
    "vmap": lambda x: torch.func.vmap(lambda row: row / row.square().mean().sqrt())(x.flatten(0, 1)),
    "functional gradient": lambda x: torch.func.grad(lambda y: (y.sin() * y).sum())(x),
    "jacobian": lambda x: torch.func.jacrev(lambda y: y * y.sum())(x[0, 0]),
    "autocast to nothing": lambda x: _in_autocast(x),
    "inference mode": lambda x: _in_inference_mode(x),
    "resize": lambda x: x.clone().resize_(2, 2),
    "fft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
}


def _written_through_a_view(x: Tensor) -> Tensor:
    x.transpose(1, 2)[:, ::2].mul_(3)
    x.view(-1)[1:4].zero_()
    return x


def _in_autocast(x: Tensor) -> Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=False):
        return x @ x.mT


def _in_inference_mode(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return (x * 2).sum(-1).clone()


@pytest.mark.parametrize("name", OF_ONE_TENSOR)
def test_an_operation_gives_what_it_gives_on_the_cpu(name: str) -> None:
    function = OF_ONE_TENSOR[name]
    assert_same(*(function(maker(device)(2, 3, 8)) for device in (HERE, "cpu")))


# ── Mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────

MISTAKES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sum": lambda x, y: x + y,
    "sum, the other way round": lambda x, y: y + x,
    "product in place": lambda x, y: x.mul_(y),
    "matmul": lambda x, y: x @ y.mT,
    "cat": lambda x, y: torch.cat((x, y)),
    "stack": lambda x, y: torch.stack((x, y)),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "mask": lambda x, y: x.masked_fill(y > 0, 0.0),
    "einsum": lambda x, y: torch.einsum("ij,ij->i", x, y),
    "ids for an embedding": lambda x, y: F.embedding((y > 0).long()[0], x),
    "table of an embedding": lambda x, y: F.embedding((x > 0).long()[0], y),
    "gather": lambda x, y: x.gather(0, (y > 0).long()),
    "assigned values": lambda x, y: x.__setitem__((x > 9,), y[y > 9]),
    "ids for the CPU's tensor": lambda x, y: y[(x[0] > 0).long()],
    "equal": lambda x, y: torch.equal(x, y),
    "layer_norm": lambda x, y: F.layer_norm(x, (3,), y[0]),
    "linear": lambda x, y: F.linear(x, y),
    "out": lambda x, y: torch.mul(x, 2, out=y),
    "numpy": lambda x, _: x.numpy(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mixed_devices_are_refused_in_the_words_of_torch(name: str) -> None:
    with pytest.raises(
        (RuntimeError, TypeError), match=r"on the same device|indices should be|device type tensor to numpy"
    ):
        MISTAKES[name](torch.ones(3, 3, device=HERE), torch.ones(3, 3))


def test_it_stays_installed_once_and_warns_of_nothing() -> None:
    with warnings.catch_warnings(action="error"):
        second_device.install()
    assert second_device.is_here(torch.ones(1, device=HERE).device)
    assert not second_device.is_here("cpu")


def test_the_public_tests_find_it_in_the_repository() -> None:
    """Without it, they would leave out what only a second device shows, and say nothing."""
    assert (TESTS / "harness" / "shared" / "second_device" / "__init__.py").is_file()


def test_a_torch_that_cannot_take_it_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_device, "_register", lambda: 1 / 0)
    monkeypatch.setattr(getattr(torch, second_device.NAME), "works", False)
    for _ in range(2):  # not even if it is asked for again
        with pytest.raises(second_device.Unavailable, match=r"torch 2.* ZeroDivisionError: division by zero"):
            second_device.install()
