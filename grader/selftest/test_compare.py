"""How a judge looks: comparisons that never say what was expected, seeded inputs, kept results, and hidden tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.core.judge.cases import MOST_BYTES, generator, integers, kept, normal, signs, uniform
from grader.core.judge.compare import (
    DTYPES,
    check_close,
    check_equal,
    check_errors,
    check_like,
    check_shape,
    error_in_ulp,
    name,
    ulp,
)
from grader.core.judge.faults import WrongAnswer
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.wording import as_factor, in_two_decimals, listed, places
from grader.core.messages import quoted
from grader.core.settings import CannotGrade
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.verify.attacks import NUMBER

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)


def double(*numbers: float) -> Tensor:
    """A float64 vector."""
    return torch.tensor(numbers, dtype=torch.float64)


@dtypes
@pytest.mark.parametrize("scale", [1.0, 1.5, -3.0, 0.1, 60000.0, 1e-3], ids=str)
def test_an_ulp_is_the_step_to_the_next_number(dtype: torch.dtype, scale: float) -> None:
    """``nextafter`` of torch knows neither 16-bit type, so one is added to the bits instead."""
    value = torch.tensor([abs(scale)]).to(dtype)
    integers = torch.int32 if dtype is torch.float32 else torch.int16
    neighbour = (value.view(integers) + 1).view(dtype)
    assert torch.equal(ulp(torch.sign(double(scale)) * value, dtype), neighbour.double() - value.double())


@dtypes
def test_the_ulp_of_zero_is_the_smallest_number(dtype: torch.dtype) -> None:
    assert ulp(double(0.0), dtype).item() == torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps


def test_an_error_is_counted_in_ulp_of_the_scale() -> None:
    errors = error_in_ulp(double(1 + 2**-23, 8.0), double(1.0, 8 - 2**-20), double(1.0, 1.0), torch.float32)
    assert errors.tolist() == [1.0, 8.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_what_is_not_finite_is_infinitely_wrong(value: float) -> None:
    assert error_in_ulp(double(value), double(1.0), double(1.0), torch.float32).item() == math.inf
    with pytest.raises(WrongAnswer, match=r"^output: shape \[1\], 1 of 1 elements wrong.*; not finite: 1$"):
        check_close(double(value), double(1.0), double(1.0), torch.float32, 16, quoted("output"))


def test_close_numbers_pass_up_to_the_limit_and_fail_beyond() -> None:
    check_close(double(1 + 16 * 2**-23), double(1.0), double(1.0), torch.float32, 16, quoted("output"))
    with pytest.raises(WrongAnswer, match="largest error in rounding steps: 17; allowed: 16") as caught:
        check_close(double(1 + 17 * 2**-23), double(1.0), double(1.0), torch.float32, 16, quoted("output"))
    assert (caught.value.error_ulp, caught.value.limit_ulp) == (17, 16)


def test_the_first_wrong_place_is_named() -> None:
    errors = torch.zeros(2, 3)
    errors[1, 0] = errors[1, 2] = 5
    with pytest.raises(
        WrongAnswer,
        match=r"shape \[2, 3\], 2 of 6 elements wrong, the first at \[1, 0\]; largest error in rounding steps: 5",
    ):
        check_errors(errors, 4, quoted("output"), errors * 1e-9 + 1, torch.ones(2, 3).double(), 1.0)
    assert places(quoted("it"), torch.tensor(True)) == "it: shape [], 1 of 1 elements wrong, the first at []"


def test_nothing_is_as_close_as_it_can_be() -> None:
    check_errors(torch.empty(0, 3), 0, quoted("output"), torch.empty(0, 3), torch.empty(0, 3), 1.0)


def test_equal_means_every_bit_but_the_sign_of_zero() -> None:
    check_equal(torch.tensor([0.0, 1.0]), torch.tensor([-0.0, 1.0]), quoted("table"))
    with pytest.raises(WrongAnswer, match=r"^table: shape \[2\], 1 of 2 elements wrong, the first at \[1\]$"):
        check_equal(torch.tensor([0.0, 1.0 + 2**-23]), torch.tensor([0.0, 1.0]), quoted("table"))
    with pytest.raises(WrongAnswer, match=r"1 of 1 elements wrong.*; not finite: 1"):
        check_equal(torch.tensor([math.nan]), torch.tensor([math.nan]), quoted("table"))


def test_another_shape_fails_even_where_it_would_broadcast() -> None:
    check_shape(torch.ones(2, 1), [2, 1])
    checks: list[Callable[[], None]] = [
        lambda: check_shape(torch.ones(2, 1), [2, 2]),
        lambda: check_equal(torch.ones(2, 1), torch.ones(2, 2), quoted("table")),
        lambda: check_close(
            torch.ones(2, 1), double(1, 1, 1, 1).reshape(2, 2), double(1), torch.float32, 1, quoted("output")
        ),
    ]
    for check in checks:
        with pytest.raises(WrongAnswer, match=r"has shape \[2, 1\], not \[2, 2\]"):
            check()


def test_likeness_is_of_shape_dtype_and_device() -> None:
    check_like(torch.ones(2), torch.zeros(2))
    check_like(torch.ones(2).half(), torch.zeros(2), torch.float16)
    with pytest.raises(WrongAnswer, match=r"the output has shape \[3\], not \[2\]"):
        check_like(torch.ones(3), torch.ones(2))
    with pytest.raises(WrongAnswer, match="the output is float16, but should be float32"):
        check_like(torch.ones(2).half(), torch.ones(2))
    with pytest.raises(WrongAnswer, match="the output is on meta, not on cpu"):
        check_like(torch.ones(2, device="meta"), torch.ones(2))


def seen(values: Tensor, expected: Tensor) -> str:
    """What ``check_close`` adds to the places."""
    with pytest.raises(WrongAnswer) as caught:
        check_close(values, expected, expected.abs(), torch.float32, 16, quoted("output"))
    assert caught.value.elements == values.numel()
    return str(caught.value).partition("; ")[2]


def test_a_wrong_tensor_is_described_by_what_its_elements_share() -> None:
    expected = double(1.0, -2.0, 3.0, 5.0, -7.0)
    assert seen(double(1.0, 0.0, 0.0, 0.0, 0.0), expected) == "zero wherever it is wrong"
    assert seen(torch.full_like(expected, 4.0), expected) == "all of these are the same number"
    assert seen(-expected, expected) == "all of these have the opposite sign"
    assert seen(3 * expected, expected) == "all of these are 3 times the expected value"
    assert seen(-expected / 2, expected) == "all of these are -0.5 times the expected value"
    assert seen(expected.clamp(-0.5, 0.5), expected) == "all of these are clamped to the same magnitude"
    assert seen(expected + 10, expected) == "all of these are off by the same constant"
    assert seen(expected.flip(0), expected) == "off by up to 8 times their magnitude"
    assert seen(expected.flip(0) * 1e4, expected) == "off by more than 1000 times their magnitude"
    assert seen(expected * double(1.5, 1.1, 1.5, 1.1, 1.5), expected) == "off by up to 50% of their magnitude"
    assert seen(expected + double(0, math.nan, 0, math.inf, 0), expected) == "not finite: 2"
    by_one_factor = (
        "largest error in rounding steps: 224; allowed: 16; all of these are off by the same factor, close to 1"
    )
    assert seen(expected * (1 + 2.0**-16), expected) == by_one_factor
    rounded = expected * (1 + double(4, 2, 3, 4, 4) * 2.0**-18)
    assert seen(rounded, expected) == "largest error in rounding steps: 224; allowed: 16"
    alike = 1 + double(1, 2, 3, 4) * 2.0**-12
    assert seen(torch.ones_like(alike), alike) == "all of these are the same number"
    assert "rounding steps" in seen(1 + (alike - alike.mean()) * 2.0**-12, alike)
    alone = seen(double(3.0, 2.0), double(1.0, 2.0))
    assert alone == "off by up to 2 times their magnitude", "A factor of one element would be its expected value."


def test_slices_that_changed_places_are_told() -> None:
    expected = torch.arange(1.0, 13.0).double().reshape(3, 4)
    moved = "along dimension 0, [0, 1, 2] hold the values that belong at [2, 2, 0]"
    assert seen(expected[[2, 2, 0]], expected).endswith(moved)
    last = expected.clone()
    last[:, 3] *= -3
    assert seen(last, expected).endswith("wrong only at these indices of dimension 1: 3")


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([*range(12), 23], "0–11, 23"),
        ([0, *range(12, 24)], "0, 12–23"),
        ([3, 4, 8], "3, 4, 8"),
        (range(0, 16, 2), "0, 2, 4, 6, 8, 10 …"),
        ([], ""),
    ],
)
def test_places_in_a_row_are_a_range(places: Sequence[int], told: str) -> None:
    assert listed(torch.isin(torch.arange(24), torch.tensor([*places]))) == told


vectors = st.lists(st.floats(-8, 8, width=32), min_size=4, max_size=4)


@given(vectors, vectors, st.integers(-40, 40))
def test_the_message_tells_nothing_of_the_expected_value(output: list[float], expected: list[float], by: int) -> None:
    """Non-interference: at another magnitude, with errors the same in ulp, it is the same word for word."""
    first, second = double(*output), double(*expected)
    messages = {message_of(first * factor, second * factor, 1.0 * factor) for factor in (1.0, 2.0**by)}
    assert len(messages) == 1


def message_of(actual: Tensor, expected: Tensor, scale: float) -> str:
    """What a comparison in float32 says; nothing if it passes."""
    try:
        check_close(actual, expected, torch.full_like(expected, scale), torch.float32, 16, quoted("output"))
    except WrongAnswer as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("value", "told"), [(2**-0.5, "0.71"), (0.0023, "0"), (-0.001, "0"), (-1.5, "-1.5"), (123456.789, "1.2e+05")]
)
def test_a_number_that_a_submission_chose_is_told_in_two_decimals(value: float, told: str) -> None:
    """With more digits, a message could carry a number of a test's input: ``grader verify`` refuses such a report."""
    assert in_two_decimals(value) == told
    assert not NUMBER.search(told)


@pytest.mark.parametrize(("factor", "told"), [(-1.5, "-1.5"), (0.000234, "2e-04"), (-2.34e-9, "-2e-09")])
def test_a_small_factor_is_no_zero(factor: float, told: str) -> None:
    assert as_factor(factor) == told
    assert not NUMBER.search(told)


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


@pytest.mark.parametrize(
    "draw",
    [normal, signs, partial(uniform, low=1, high=9), partial(integers, low=1, high=9)],
    ids=["normal", "signs", "uniform", "integers"],
)
def test_another_seed_or_another_key_gives_another_input(draw: Callable[..., Tensor]) -> None:
    drawn = draw(1, "x", 1, shape=(3, 4))
    for key in ((2, "x", 1), (1, "x", 3), (1, "y", 1), (1, "x", True)):
        assert not torch.equal(drawn, draw(*key, shape=(3, 4)))


def test_the_global_random_numbers_do_not_matter() -> None:
    torch.rand(5)
    assert torch.equal(normal(1, "x", 2, shape=(3, 4)), torch.randn(3, 4, generator=generator(1, "x", 2)))


TESTS = """
import pytest
from grader.core.judge.faults import WrongAnswer

pytestmark = pytest.mark.rubric("a")
EVENTS = []

@pytest.fixture
def resource():
    EVENTS.append("made")
    yield "resource"
    EVENTS.append("gone")

@pytest.mark.parametrize("number", [1, 2])
def test_parameters_and_seed_arrive(student, seed, number, device):
    if (student.name, seed, device) != ("ada", 7, "cpu") or number == 2:
        raise WrongAnswer("two")

def test_asks_for_nothing():
    assert EVENTS == []

def test_a_fixture_is_made(resource):
    assert (resource, EVENTS) == ("resource", ["made"])

def test_and_gone_afterwards(monkeypatch):
    assert EVENTS == ["made", "gone"]

@pytest.mark.skipif(True, reason="not here")
def test_a_mark_counts(seed):
    raise AssertionError

def test_may_leave_itself_out(seed):
    pytest.skip("no such device")

def test_may_be_wrong_itself(seed):
    raise KeyError("ours")

def short_of_memory():
    raise MemoryError

def test_may_be_too_large_for_words(seed):
    raise WrongAnswer(short_of_memory)

def test_is_not_put_in_words_where_it_is_passed_over(seed):
    with pytest.raises(WrongAnswer):
        raise WrongAnswer(short_of_memory).with_more(short_of_memory)

class TestOfAClass:
    def test_knows_itself(self, seed):
        assert isinstance(self, TestOfAClass)
"""
OUTCOMES = {
    "parameters_and_seed_arrive-cpu-1": ("passed", ""),
    "parameters_and_seed_arrive-cpu-2": ("failed", "two"),
    "asks_for_nothing": ("passed", ""),
    "a_fixture_is_made": ("passed", ""),
    "and_gone_afterwards": ("passed", ""),
    "a_mark_counts": ("not_assessed", "not here"),
    "may_leave_itself_out": ("not_assessed", "no such device"),
    "may_be_wrong_itself": ("grader_error", "the grader failed here, not you"),
    "may_be_too_large_for_words": ("invalid_reply", "judging this output takes more memory than is available"),
    "is_not_put_in_words_where_it_is_passed_over": ("passed", ""),
    "knows_itself": ("passed", ""),
}


def collected(place: Path, text: str) -> HiddenTests:
    folder = place / "hidden"
    folder.mkdir()
    (folder / f"test_{len(text)}.py").write_text(text)  # a name of its own: modules are kept by name
    return HiddenTests(replace(ASSIGNMENT, folder=folder.parent), ("cpu",), 7, ["a"])


def test_what_a_test_asks_for_decides_how_it_is_run(tmp_path: Path) -> None:
    ada = Mock(["name", "excuses", "start_case", "start_afresh", "condemns", "announce", "begin"], excuses=())
    ada.name, ada.condemns.return_value = "ada", False
    results = run_tests(collected(tmp_path, TESTS), ada)
    assert {result.id: (str(result.outcome), result.message) for result in results} == OUTCOMES
    assert ada.start_case.call_count == len(OUTCOMES)
    assert "KeyError" in next(result.detail for result in results if result.id == "may_be_wrong_itself")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def test_unmarked():\n    pass\n", r"(?s)test_\d+\.py.*has no @pytest\.mark\.rubric"),
        ("import pytest\n@pytest.mark.rubric('b')\ndef test_b():\n    pass\n", 'no hidden test .*rubric."a"'),
    ],
    ids=["unmarked", "mistyped"],
)
def test_tests_that_cannot_be_collected_are_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CannotGrade, match=said):
        collected(tmp_path, text)
