"""When an output counts as computed in a certain way: within a wide tolerance, since other ways are farther off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import torch
from torch import Tensor

from grader.testing import InvalidReply, StudentModule, WrongAnswer, other_shape, say

# Wide enough for arithmetic in bfloat16, which is another mistake; the ways that a probe compares differ by far more.
TOLERANCE: Final = 2.0**-6


def values(output: object, shape: Sequence[int]) -> Tensor:
    """An output as float64 on the CPU, reshaped to ``shape``: its own shape does not matter here.

    Raises:
        StudentFault: If it is not a real tensor, or has another number of elements.
    """
    if not isinstance(output, Tensor) or not output.is_floating_point():
        raise InvalidReply(say("not a real tensor"))
    if output.numel() != torch.Size(shape).numel():
        raise WrongAnswer(other_shape(output.shape, shape))
    return output.detach().cpu().double().reshape(torch.Size(shape))


def parameter(module: StudentModule, shape: Sequence[int]) -> Tensor:
    """The first parameter with as many elements as ``shape``, whatever else is registered.

    Raises:
        StudentFault: If there is none.
    """
    size = torch.Size(shape).numel()
    for candidate in module.parameters():
        if candidate.value.numel() == size:
            return values(candidate.value, shape)
    raise WrongAnswer(say("the parameter has {n} elements", n=size))


def fits(actual: Tensor, expected: Tensor, scale: Tensor | float = 1.0, tolerance: float = TOLERANCE) -> bool:
    """Whether every element is within ``tolerance * scale`` of the expected one; never, if one is not finite."""
    return bool(((actual - expected).abs() <= tolerance * torch.as_tensor(scale)).all())


def only(fitting: Iterable[str | None]) -> str | None:
    """The only mistake that fits; None if several fit, or the right computation, which is also None, does."""
    found = set(fitting)
    return found.pop() if len(found) == 1 else None
