"""An answer is right whichever of its formulas a student writes: no check asks for a float to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import pytest
import torch

from grader.lab.selftest.exercises import EXERCISES, cells, check

pytestmark = pytest.mark.slow  # each check runs the given cells that it needs

OFF = {torch.float64: 1e-13, torch.complex128: 1e-13, torch.float32: 2e-7, torch.complex64: 2e-7}  # relative
EXPONENTIAL = "torch.exp(-torch.arange(0, dim, 2).double() / dim * math.log(base))"
BETA = "(factor ** (2 / (dim - 2)) * base ** (2 / dim)) ** (dim / 2)"  # the assignment's (c_kappa * beta) ** (d / 2)
FORMULAS = {  # answers that exact comparisons refused: the solution's own formula, and another that says the same
    "2.2": ("base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)", EXPONENTIAL),
    "5.3": ("base * factor ** (dim / (dim - 2))", BETA),
    "5.4": ("base * factor ** (dim / (dim - 2))", BETA),
    "8.4": ('frequencies(dim, rope["rope_theta"])', EXPONENTIAL.replace("base", 'rope["rope_theta"]')),
}


def off(value: Any, sign: float) -> Any:
    """What a function returned, with every float off by as much as two right formulas may differ."""
    if isinstance(value, tuple):
        return tuple(off(part, sign) for part in value)
    if isinstance(value, dict):
        return {name: off(part, sign) for name, part in value.items()}
    if isinstance(value, float):
        return value * (1 + sign * OFF[torch.float64])
    if isinstance(value, torch.Tensor) and value.dtype in OFF:
        signs = sign * (1.0 - 2.0 * (torch.arange(value.numel()) % 2)).view(value.shape).to(value.dtype)
        return torch.where(value.isfinite(), value * (1 + signs * OFF[value.dtype]), value)
    return value


def rounded(function: Callable[..., Any], sign: float) -> Callable[..., Any]:
    return wraps(function)(lambda *given, **named: off(function(*given, **named), sign))


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["more", "less"])
@pytest.mark.parametrize(("notebook", "exercise"), EXERCISES.values(), ids=EXERCISES)
def test_a_check_leaves_room_for_rounding(notebook: str, exercise: str, sign: float) -> None:
    """A law says what the answer is; in which order a student multiplies is no part of it."""
    right = cells(notebook)[exercise]
    sign *= exercise != "convert"  # which moves numbers and computes none
    check(notebook, exercise, right, hidden=True, handed=partial(rounded, sign=sign))


@pytest.mark.parametrize("number", FORMULAS)
def test_a_second_right_formula_passes(number: str) -> None:
    (formula, other), (notebook, exercise) = FORMULAS[number], EXERCISES[number]
    right = cells(notebook)[exercise]
    assert formula in right
    check(notebook, exercise, right.replace(formula, other), hidden=True)


def test_what_the_rounding_does_not_touch() -> None:
    """Whole numbers, zeros and infinities have no last digit."""
    kept = (torch.tensor([0.0, -torch.inf]), torch.tensor([1, 2]), True, 3)
    assert str(off(kept, 1.0)) == str(kept)
    assert off(torch.tensor([1.0, 1.0]).double(), 1.0).sub(1).sign().tolist() == [1, -1]
