"""The one place where outputs are compared: with a float64 oracle, in units in the last place (ulp).

The error of an element is ``e_i = |y_i - oracle_i| / ulp(s_i)``, with a scale ``s_i`` for each element. Tolerances that
tests share are here, each with its reason; ``grader/docs/decisions`` tells how they were chosen.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grader.core.messages import Message, say

from .cases import kept
from .devices import label
from .faults import WrongAnswer
from .wording import in_steps, own_look, pattern, places, relation

OTHER_DTYPE = "the output is {actual}, but should be {wanted}"
OTHER_SHAPE = "{what} has shape {actual}, not {wanted}"
OUTPUT = say("the output")
ELSEWHERE = "{what} is on {here}, not on {there}"

DTYPES = (torch.float32, torch.float16, torch.bfloat16)

# Correct implementations order their operations differently, and differ by less than this.
FORWARD_LIMIT = {torch.float32: 16.0, torch.float16: 4.0, torch.bfloat16: 4.0}
# Sums over tokens and groups round many times in float32; in 16 bits the final rounding dominates.
INPUT_GRADIENT_LIMIT = {torch.float32: 1024.0, torch.float16: 6.0, torch.bfloat16: 6.0}
PARAMETER_GRADIENT_LIMIT = {torch.float32: 64.0, torch.float16: 6.0, torch.bfloat16: 6.0}
# `rand * width + low` and `uniform_` differ by one or two roundings.
INIT_LIMIT = 4.0

# Error and limit of each comparison that the current case has passed, to report how close it came.
MARGINS: list[tuple[float, float]] = []


@kept
def ulp(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """The distance between neighbouring numbers of ``dtype`` around ``scale``, as float64."""
    numbers = _numbers(dtype)
    magnitude = scale.double().abs().clamp(min=numbers.tiny)  # below it, zero included, the steps stay the same
    exponent = torch.frexp(magnitude).exponent - 1
    return torch.ldexp(torch.full_like(magnitude, numbers.eps), exponent)


def coarser(first: torch.dtype, second: torch.dtype) -> torch.dtype:
    """The one of two dtypes with fewer significand bits."""
    return max(first, second, key=lambda dtype: _numbers(dtype).eps)


def _numbers(dtype: torch.dtype) -> torch.finfo:
    """``torch.finfo`` of a dtype; integers are compared as float64."""
    return torch.finfo(dtype if dtype.is_floating_point else torch.float64)


def error_in_ulp(actual: Tensor, oracle: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Elementwise error in ulp, float64 on the CPU; infinite where ``actual`` is not finite."""
    error = (actual.detach().cpu().double() - oracle).abs_() / ulp(scale, dtype)
    return error.nan_to_num_(nan=torch.inf, posinf=torch.inf)


def check_shape(actual: Tensor, shape: torch.Size | list[int], what: Message = OUTPUT) -> None:
    """Require a shape, and real numbers.

    Raises:
        WrongAnswer: If the shape differs, or the numbers are complex.
    """
    if actual.is_complex():
        raise WrongAnswer(say("the output has dtype {actual}; a real dtype is required", actual=name(actual.dtype)))
    if list(actual.shape) != list(shape):
        elements = torch.Size(shape).numel()
        told = say(OTHER_SHAPE, what=what, actual=list(actual.shape), wanted=list(shape))
        raise WrongAnswer(told, elements=elements)


def check_like(actual: Tensor, example: Tensor, dtype: torch.dtype | None = None) -> None:
    """Require the shape, device and dtype of ``example`` (or ``dtype``, if given).

    Raises:
        WrongAnswer: Naming the first that differs.
    """
    check_shape(actual, example.shape)
    check_dtype(actual, dtype or example.dtype)
    if actual.device != example.device:
        raise WrongAnswer(elsewhere(say("the output"), actual.device, example.device))


def check_dtype(actual: Tensor, dtype: torch.dtype) -> None:
    """Require a dtype.

    Raises:
        WrongAnswer: If it is another.
    """
    if actual.dtype != dtype:
        raise WrongAnswer(say(OTHER_DTYPE, actual=name(actual.dtype), wanted=name(dtype)))


def check_close(actual: Tensor, oracle: Tensor, scale: Tensor, dtype: torch.dtype, limit: float, what: Message) -> None:
    """Require ``actual`` within ``limit`` ulp of ``oracle``, whatever its dtype.

    Args:
        actual: What the student computed.
        oracle: float64, on the CPU.
        scale: Magnitude whose ulp is the unit; broadcasts with ``oracle``.
        dtype: The dtype whose ulp is the unit.
        limit: In ulp.
        what: How the message begins, such as ``say("{dtype} output", dtype="float16")``.

    Raises:
        WrongAnswer: With the place and size of the largest error, without the expected value.
    """
    check_shape(actual, oracle.shape, what)
    check_errors(error_in_ulp(actual, oracle, scale, dtype), limit, what, actual, oracle, scale)


def check_errors(
    errors: Tensor, limit: float, what: Message, actual: Tensor, expected: Tensor, scale: Tensor | float
) -> None:
    """Require every error to be within the limit; see :func:`check_close`.

    ``actual`` and ``expected`` have the shape of ``errors``; ``scale`` broadcasts to it. Only the message uses them.
    """
    if are_within(errors, limit):
        return
    worst, wrong = float(errors.max()), errors > limit
    sizes = torch.as_tensor(scale, dtype=torch.float64).expand(errors.shape)
    values = actual.detach().cpu().double()

    def told() -> Message:
        seen = relation(values[wrong], expected[wrong], sizes[wrong]) or in_steps(worst, limit)
        return places(what, wrong).then(seen, *pattern(values, expected, wrong))

    raise WrongAnswer(told, worst, limit, wrong.numel())


def are_within(errors: Tensor, limit: float) -> bool:
    """Whether every error is within the limit; if so, the current case notes how close it came."""
    worst = float(errors.max()) if errors.numel() else 0.0
    if worst <= limit:
        MARGINS.append((worst, limit))
    return worst <= limit


def check_equal(actual: Tensor, expected: Tensor, what: Message) -> None:
    """Require exactly the same values, whatever their dtype; 0.0 equals -0.0.

    Raises:
        WrongAnswer: With the first place that differs, without the expected value.
    """
    check_shape(actual, expected.shape, what)
    values, wanted = actual.detach().cpu(), expected.cpu()
    if values.dtype == wanted.dtype and torch.equal(values, wanted):
        return
    values = values.double()
    wrong = values != wanted.double()
    if bool(wrong.any()):

        def told() -> Message:
            look = own_look(values[wrong])
            return places(what, wrong).then(*([look] if look else pattern(values, wanted.double(), wrong)))

        raise WrongAnswer(told, elements=wrong.numel())


def require(condition: bool, message: Message) -> None:
    """Require a condition of the contract.

    Raises:
        WrongAnswer: With the message, if it does not hold.
    """
    if not condition:
        raise WrongAnswer(message)


def elsewhere(what: Message, here: torch.device, there: torch.device | str) -> Message:
    """Says that a tensor is on another device."""
    return say(ELSEWHERE, what=what, here=label(here), there=label(there))


def name(dtype: torch.dtype) -> str:
    """``float16`` for ``torch.float16``."""
    return str(dtype).removeprefix("torch.")
