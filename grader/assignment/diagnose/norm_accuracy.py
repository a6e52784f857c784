"""GroupRMSNorm: mistakes that show only in 16 bits, or only in the gradient."""

from __future__ import annotations

from typing import Final

from torch import Tensor

from grader.assignment.hidden.norm_inputs import build, grouped_input
from grader.assignment.model.normalising import GROUP_SIZE, HIDDEN, normalising, numbers
from grader.testing import Student, error_in_ulp, normal

from .fit import fits
from .norm import SHAPE

ONE_ROUNDING: Final = 0.53  # ulp: 0.5 for the rounding of the output, and a little for float32's rounding


def sixteen_bits(student: Student) -> str | None:
    """Compare outputs for 16-bit inputs with the student's own for the same numbers in float32.

    The float32 outputs must follow a law exactly: code that always computes in 16 bits has another problem. Then a
    16-bit output may differ from them by one rounding only, also where no eps shows.
    """
    usual = normal(0, "diagnose", shape=(4, 16, HIDDEN)) * 64 + 32
    reading = normalising(student)
    if reading.law is None or not reading.exact:
        return None
    worst = 0.0
    for x in (usual.half(), usual.bfloat16()):
        wide, narrow = (numbers(build(student, GROUP_SIZE, "cpu")(given), x.shape) for given in (x.float(), x))
        worst = max(worst, float(error_in_ulp(narrow, wide, wide, x.dtype).max()))
    return "norm_squares_before_upcast" if worst > ONE_ROUNDING else None


def _centred(x: Tensor) -> Tensor:
    """Shift every group to mean zero, so that subtracting the mean has no effect on values or gradients."""
    means = x.reshape(-1, GROUP_SIZE).mean(-1).repeat_interleave(GROUP_SIZE)
    return x - means.reshape(x.shape)


def backward(student: Student) -> str | None:
    """Compare the input's gradient with ``upstream * output / x``: what it is if the divisor counts as a constant.

    The output is the student's own, so it does not matter what the code divides by, as long as it divides: twice the
    input must give the same output.
    """
    x = _centred(grouped_input(0, SHAPE))
    upstream = _centred(normal(0, "diagnose upstream", shape=x.shape))
    module = build(student, GROUP_SIZE, "cpu")
    output = numbers(module(x), x.shape)
    if not fits(numbers(module(2 * x), x.shape), output):
        return None
    of_arguments = module.gradients(x, upstream=upstream).of_arguments
    if not of_arguments or of_arguments[0] is None:
        return None
    gradient = numbers(of_arguments[0], x.shape)
    constant_divisor = upstream.double() * output / x.double()
    return "norm_detached_rms" if fits(gradient, constant_divisor, constant_divisor.abs()) else None
