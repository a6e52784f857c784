"""Task 1, inexact computation: 16-bit outputs are compared with the student's own float32 outputs, right or wrong."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, F32, NARROW
from grader.assignment.hidden.conditions import check_digits, largest, stating, succeeds
from grader.assignment.hidden.norm_inputs import (
    BESIDE_FLOAT32,
    BESIDE_LARGER,
    CLAMPED,
    FORWARD,
    GROUPINGS,
    NO_ROUNDING,
    ONE_ROUNDING,
    OTHER_EPS,
    OTHER_FORMULA,
    OVERFLOW,
    Shape,
    accepted,
    build,
    check_contract,
    check_law,
    flat_tokens,
    grouped_input,
    judged,
    quotients,
    sizes,
    told_added,
    told_sizes,
)
from grader.assignment.model.normalising import (
    CONTRACT,
    NOTHING,
    fits,
    normalising,
    only_digits_differ,
    require_division,
)
from grader.assignment.model.outputs import numbers
from grader.testing import (
    DTYPES,
    FORWARD_LIMIT,
    Message,
    Student,
    WrongAnswer,
    check_close,
    check_errors,
    coarser,
    contract_first,
    error_in_ulp,
    kept,
    name,
    normal,
    require,
    say,
    uniform,
)

# Magnitude, eps and group sizes, of which the reciprocal is no 16-bit number, as elsewhere in this file.
RANGES = {"overflow": (3000.0, 1e-5, [6]), "underflow": (2e-4, 1e-8, [3, 1])}
LARGER_RIGHT = say("with far larger numbers it is right: what is converted depends on the values")
GAMMA_RIGHT = "with a {gamma} gamma it is right: what is converted depends on gamma's dtype"
BESIDE_SMALLER = "float32 output for large numbers, compared with the same numbers divided by 16384"
COARSE = 2.0**-3  # relative: more than a few roundings to 16 bits
NEXT_TO_NONE = 1e-12  # an eps that is not refused as zero may be
ALL_NARROW = "every element is a {dtype} number"


def check_witness(
    student: Student,
    x: Tensor,
    group_size: int,
    eps: float,
    gamma: Tensor | None,
    gamma_dtype: torch.dtype,
    device: str,
    *,
    beside: bool = True,
) -> None:
    """Compare a 16-bit output with the submission's own output for the same numbers in float32.

    A fault says what makes it right, if one of the inputs ``beside`` this one does: larger numbers or another gamma.
    """
    taken = [dtype for dtype in (gamma_dtype, torch.float32, x.dtype) if normalising(student).takes(x.dtype, dtype)]
    if not taken:
        return  # charged to the dtypes

    def given(x: Tensor, gamma_dtype: torch.dtype) -> Tensor:
        module = build(student, group_size, device, hidden=x.shape[-1], gamma=gamma, gamma_dtype=gamma_dtype, eps=eps)
        return module(x.to(device))

    def output(x: Tensor, gamma_dtype: torch.dtype) -> Tensor:
        return numbers(given(x, gamma_dtype), x.shape)

    wide = output(x.float(), torch.float32)
    require(bool(wide.isfinite().all()), OVERFLOW.then(*filter(None, [largest(x)])))
    require(bool(wide.any()), NOTHING)
    first = given(x, taken[0])
    narrow = numbers(first, x.shape)
    unit = max((x.dtype, first.dtype), key=lambda dtype: torch.finfo(dtype).eps)  # another dtype is charged elsewhere
    held = wide.abs() <= torch.finfo(x.dtype).max  # numbers that the 16-bit dtype cannot hold are not compared
    narrow = narrow[held]

    def check(wide: Tensor) -> None:
        what = say(BESIDE_FLOAT32, dtype=name(x.dtype), group_size=group_size, eps=f"{eps:g}")
        check_errors(error_in_ulp(narrow, wide, wide, unit), ONE_ROUNDING, what, narrow, wide, wide.abs())

    try:
        check(wide[held])
    except WrongAnswer as fault:

        def check_gamma() -> None:
            second = output(x.float(), taken[0])
            require(is_by_feature(second, wide, x.dtype), NOTHING)
            check(second[held])

        if succeeds(check_gamma):
            student.excuse(fault, ("norm_gamma", "norm_purity"))  # no rounding, but a gamma of another call or time
            return
        # Of flat tokens.
        added, in_wide = (x[held].double().square() * (y.square().reciprocal() - 1) for y in (narrow, wide[held]))

        def check_clamped(bound: float) -> None:
            require(bool((x.abs() > bound).any()), NOTHING)
            check(output(x.float().clamp(-bound, bound), torch.float32)[held])

        most = torch.finfo(torch.float16).max
        bounds = {most, float(torch.tensor(most, dtype=x.dtype))}  # the latter where the input is clamped as it is
        clamped = [say(CLAMPED, bound=f"{one:g}") for one in sorted(bounds) if succeeds(partial(check_clamped, one))]
        in_range = bool(x.abs().max() > 1 and narrow.all() and narrow.isfinite().all())  # so was every square
        formula = in_range and not clamped and not fits(narrow, wide[held], COARSE)
        told = clamped[0] if clamped else largest(x, fault)
        of_eps = told_added(added, eps) if gamma is None else None
        if of_eps and of_eps.fields(OTHER_EPS) is not None and added.median() > 2 * in_wide.median():
            student.excuse(fault, ("norm_eps_inside_sqrt",))  # no rounding makes eps so much larger
            return

        def is_right(x: Tensor, gamma_dtype: torch.dtype) -> bool:
            return succeeds(
                partial(check_witness, student, x, group_size, eps, gamma, gamma_dtype, device, beside=False)
            )

        other = x.dtype if taken[0] is torch.float32 else torch.float32
        if not beside or of_eps:
            right = None
        elif is_right(x * 2.0 ** (14 - int(x.abs().max().float().frexp().exponent)), taken[0]):
            right = LARGER_RIGHT
        else:
            right = say(GAMMA_RIGHT, gamma=name(other)) if other in taken and is_right(x, other) else None
        raise fault.with_more(
            of_eps, told, say(OTHER_FORMULA, dtype=name(x.dtype)) if formula else None, right
        ) from None


def is_by_feature(output: Tensor, wide: Tensor, dtype: torch.dtype) -> bool:
    """Whether an output is another one whose features are multiplied by factors, as by a gamma, up to a rounding."""
    shown = wide.flatten(0, -2).all(0)  # a gamma may have drawn a zero
    output, wide = output[..., shown], wide[..., shown]
    factors = (output / wide).flatten(0, -2).median(0).values
    expected = wide * factors
    errors = error_in_ulp(output, expected, expected, dtype)
    return bool(factors.any() and (errors <= ONE_ROUNDING).all())


def far_from_one(seed: int, scale: float) -> Tensor:
    """``[2, 6, 24]``, float16: tokens of one magnitude, so that groups do not matter."""
    factors = uniform(seed, "range", scale, shape=(6,), low=0.9, high=1.1) * scale
    return flat_tokens(seed, factors.tolist(), 24, torch.float16)


def range_by_contract(student: Student, scale: float, eps: float, group_sizes: list[int], device: str) -> None:
    x = far_from_one(student.seed, scale)
    for group_size in group_sizes:
        check_contract(student, x, group_size, device, limit=ONE_ROUNDING, gamma_dtype=x.dtype, eps=eps)


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize(("scale", "eps", "group_sizes"), RANGES.values(), ids=RANGES)
@contract_first(range_by_contract, *FORWARD)
def test_squares_neither_overflow_nor_vanish(
    student: Student, scale: float, eps: float, group_sizes: list[int], device: str
) -> None:
    """Squares of these numbers, or eps, are no float16 numbers; tokens are flat, so groups do not matter.

    Gamma is float16 as well, as in a module after ``half()``: no operand widens the arithmetic.
    """
    require_division(student)
    x = far_from_one(student.seed, scale)
    for group_size in dict.fromkeys(judged(student, size, device) for size in group_sizes):
        check_witness(student, x, group_size, eps, None, x.dtype, device)


@kept
def powers_of_two(hidden: int) -> Tensor:
    """A gamma of powers of two, so that multiplying by it rounds nothing."""
    return torch.exp2(torch.arange(hidden) % 3)


def to_be_rounded(seed: int, dtype: torch.dtype) -> Tensor:
    """``[4, 16, 24]``, off zero; in bfloat16 larger than any float16 number."""
    size = 64 if dtype is torch.float16 else 2.0**20
    return ((normal(seed, "rounding", shape=(4, 16, 24)) + 0.25) * size).to(dtype)


BESIDE = {F16: {6: F32, 24: BF16}, BF16: {6: BF16, 24: F32}}  # gamma, by input and group size: unlike, and alike


def rounding_by_contract(student: Student, dtype: torch.dtype, device: str) -> None:
    x, gamma = to_be_rounded(student.seed, dtype), powers_of_two(24)
    try:
        for group_size, gamma_dtype in BESIDE[dtype].items():
            check_contract(student, x, group_size, device, limit=ONE_ROUNDING, gamma=gamma, gamma_dtype=gamma_dtype)
    except WrongAnswer as fault:
        raise fault.with_more(largest(x, fault)) from None


@pytest.mark.rubric("norm_float32_inside")
@NARROW
@contract_first(rounding_by_contract, *FORWARD)
def test_only_the_output_is_rounded_to_16_bits(student: Student, dtype: torch.dtype, device: str) -> None:
    """With a gamma of powers of two, the only rounding to 16 bits is that of the output; any other shows."""
    reading = require_division(student)
    x = to_be_rounded(student.seed, dtype)
    gamma = powers_of_two(24) if reading.gamma_right else None
    for size, gamma_dtype in BESIDE[dtype].items():
        check_witness(student, x, judged(student, size, device), 1e-5, gamma, gamma_dtype, device)
    if dtype is torch.bfloat16 and reading.takes(torch.float32, torch.float32):
        check_sizes(student, x.float(), device)


def check_sizes(student: Student, x: Tensor, device: str) -> None:
    """Require the float32 output for large numbers, if that for smaller ones does not depend on their size."""

    def output(x: Tensor) -> Tensor:
        return numbers(build(student, 4, device, eps=NEXT_TO_NONE)(x.to(device)), x.shape)

    smaller = x * 2.0**-14
    expected, large = output(smaller), output(x)
    if not fits(output(2 * smaller), expected, NO_ROUNDING):
        return  # nor has the output for large numbers a law to follow
    try:
        check_law(large, expected, say(BESIDE_SMALLER))
    except WrongAnswer as fault:
        told = told_sizes(large, expected, x, 4, lambda clamped: output(clamped * 2.0**-14))
        raise fault.with_more(told) from None


SOME_EPS = 0.01  # no 16-bit number
OF_THREE = 3  # a group size with such a reciprocal


def wide(seed: int) -> Tensor:
    """``[2, 4, 24]``, off zero, near the root of ``SOME_EPS``, so that an eps of 16 bits shows as well."""
    return (normal(seed, "wide", shape=(2, 4, 24)) + 0.25) * 0.08


def wide_by_contract(student: Student, gamma_dtype: torch.dtype, device: str) -> None:
    limit, gamma = FORWARD_LIMIT[torch.float32], powers_of_two(24)
    check_contract(
        student, wide(student.seed), OF_THREE, device, limit=limit, gamma=gamma, gamma_dtype=gamma_dtype, eps=SOME_EPS
    )


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize("gamma_dtype", DTYPES[1:], ids=lambda dtype: f"gamma_{name(dtype)}")
@contract_first(wide_by_contract, *FORWARD)
def test_a_float32_input_is_not_rounded_to_a_16_bit_gamma(
    student: Student, gamma_dtype: torch.dtype, device: str
) -> None:
    """Compared with the output for the same gamma in float32."""
    reading = require_division(student)
    x = wide(student.seed)
    gamma, size = powers_of_two(24) if reading.gamma_right else None, judged(student, OF_THREE, device)
    if not reading.takes(torch.float32, gamma_dtype) or reading.factored:
        return  # norm_dtype_and_shape or norm_gamma charges for it
    beside = build(student, size, device, gamma=gamma, eps=SOME_EPS)(x.to(device))
    module = build(student, size, device, gamma=gamma, gamma_dtype=gamma_dtype, eps=SOME_EPS)
    output, held = module(x.to(device)), module.held(24)
    if gamma is not None and held is not None and bool((held.cpu().flatten() != gamma).any()):
        return  # norm_purity charges for a call that changes gamma
    told = {"dtype": "float32", "gamma": name(gamma_dtype)}
    what = say("{dtype} output for a {gamma} gamma, compared with a float32 gamma", **told)
    expected = numbers(beside, x.shape)
    unit = coarser(output.dtype, torch.float32)  # norm_dtype_and_shape charges for a wrong dtype
    limit = FORWARD_LIMIT[unit] if unit is torch.float32 else ONE_ROUNDING
    try:
        check_close(numbers(output, x.shape), expected, expected.abs(), unit, limit, what)
    except WrongAnswer as fault:
        found = numbers(output, x.shape)
        if fits(found, expected) or not is_by_feature(found, expected, gamma_dtype):
            raise
        student.excuse(fault, ("norm_gamma", "norm_purity"))  # no rounding, but a gamma of another call or time


def far_apart(seed: int, shape: Shape) -> Tensor:
    """Groups of scales so far apart that a sum over several of them keeps few of the digits of the smallest."""
    x = grouped_input(seed, shape)
    return x * 4.0 ** (5 + torch.arange(shape[2]) // shape[3] % 3)


def exact_by_contract(student: Student, device: str) -> None:
    for shape in GROUPINGS[1:]:

        def check(x: tuple[Tensor], gamma: tuple[Tensor], group_size: int = shape[3]) -> None:
            check_contract(student, *x, group_size, device, limit=EXACT, gamma=gamma[0])

        gamma = uniform(student.seed, "exact", shape=(shape[2],), low=0.5, high=2.0)
        check_digits(check, x=(far_apart(student.seed, shape),), gamma=(gamma,))


@pytest.mark.rubric("norm_float32_inside")
@contract_first(exact_by_contract, *FORWARD)
def test_float32_outputs_are_exact(student: Student, device: str) -> None:
    """Compared with the law that the outputs follow; if none fits, they must at least be no bfloat16 numbers.

    The output is replaced by half its difference to the output for ``-x``, and compared up to a factor: other
    properties charge for what is added to all quotients, or multiplies them, and for another law of large inputs.
    """
    require_division(student)
    for shape in accepted(student, GROUPINGS[1:], "norm_float32_inside"):
        check = partial(check_exact, student, shape, device)
        try:
            check_digits(check, x=(far_apart(student.seed, shape),))
        except WrongAnswer as fault:
            if succeeds(lambda: check((far_apart(student.seed, shape),), eps=0.0)):  # noqa: B023
                student.excuse(fault, ("norm_eps_inside_sqrt",))
                return
            alike = succeeds(lambda: check((grouped_input(student.seed, shape) * 1024,)))  # noqa: B023
            raise fault.with_more(BESIDE_LARGER if alike else None) from None


def check_exact(student: Student, shape: Shape, device: str, x: tuple[Tensor], eps: float = 1e-5) -> None:
    """Require float32 outputs for an input to have float32's digits; another property judges the default of eps."""
    law, group_size = normalising(student).law, shape[3]

    def output(x: Tensor) -> Tensor:
        return quotients(student, x, group_size, device, eps)

    halves, twice = ((output(factor * x[0]) - output(-factor * x[0])) / 2 for factor in (1, 2))
    narrow = [name(dtype) for dtype in DTYPES[:0:-1] if halves.any() and torch.equal(halves, halves.to(dtype).double())]
    in_16_bits = say(ALL_NARROW, dtype="".join(narrow[:1]))
    if law is not None:
        expected = law(x[0], group_size, eps)  # features near zero show eps as groups of one
        compared, twice = (found / (found / expected).median() for found in (halves, twice))
        if only_digits_differ(compared, twice, expected):
            scale = expected.abs() + (law != CONTRACT)  # a subtracted mean cancels digits
            told = in_16_bits if narrow else told_rounding(compared, expected)
            with stating(told) if told else nullcontext():
                check_close(compared, expected, scale, torch.float32, EXACT, sizes(shape))
            return
    require("bfloat16" not in narrow, sizes(shape).then(in_16_bits))


def told_rounding(output: Tensor, expected: Tensor) -> Message | None:
    """The 16-bit dtype of which one rounding, of whatever is computed, makes errors of this size; for messages."""
    worst = float((output / expected - 1).abs().max())
    found = (name(dtype) for dtype in DTYPES[1:] if 1 / 4 <= worst / torch.finfo(dtype).eps <= ROUNDINGS)
    return next((say("errors of this size come from rounding to {dtype}", dtype=dtype) for dtype in found), None)


ROUNDINGS = 1.5  # steps of the dtype: up to three roundings in a row
EXACT = 4 * FORWARD_LIMIT[torch.float32]  # ulp: sums of up to 1024 features, in any order
