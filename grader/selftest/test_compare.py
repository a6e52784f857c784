"""The comparison: each check passes what it should, fails what it should, and never says what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.core.judge.compare import (
    DTYPES,
    check_close,
    check_equal,
    check_errors,
    check_like,
    check_shape,
    coarser,
    error_in_ulp,
    name,
    ulp,
)
from grader.core.judge.faults import WrongAnswer
from grader.core.judge.wording import in_two_decimals
from grader.core.messages import quoted
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


def test_the_coarser_dtype_has_fewer_bits() -> None:
    assert coarser(torch.float32, torch.float16) is torch.float16
    assert coarser(torch.bfloat16, torch.float16) is torch.bfloat16


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
    with pytest.raises(WrongAnswer, match="the output is float16, not float32"):
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
    assert seen(expected * (1 + 2.0**-16), expected) == "largest error in rounding steps: 224; allowed: 16"
    alike = 1 + double(1, 2, 3, 4) * 2.0**-12
    assert seen(torch.ones_like(alike), alike) == "all of these are the same number"
    assert "rounding steps" in seen(1 + (alike - alike.mean()) * 2.0**-12, alike)


def test_slices_that_changed_places_are_told() -> None:
    expected = torch.arange(1.0, 13.0).double().reshape(3, 4)
    moved = "along dimension 0, [0, 1, 2] hold the values that belong at [2, 2, 0]"
    assert seen(expected[[2, 2, 0]], expected).endswith(moved)
    last = expected.clone()
    last[:, 3] *= -3
    assert seen(last, expected).endswith("wrong only at these indices of dimension 1: 3")


def test_a_few_elements_share_nothing_worth_telling() -> None:
    """A factor of one element would be its expected value."""
    assert seen(double(3.0, 2.0), double(1.0, 2.0)) == "off by up to 2 times their magnitude"


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
