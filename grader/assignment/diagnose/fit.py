"""When an output counts as computed in a certain way: within a wide tolerance, since other ways are farther off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor

# Wide enough for arithmetic in bfloat16, which is another mistake; the ways that a probe compares differ by far more.
TOLERANCE: Final = 2.0**-6


def fits(actual: Tensor, expected: Tensor, scale: Tensor | float = 1.0, tolerance: float = TOLERANCE) -> bool:
    """Whether every element is within ``tolerance * scale`` of the expected one; never, if one is not finite."""
    return bool(((actual - expected).abs() <= tolerance * torch.as_tensor(scale)).all())


def only(fitting: Iterable[str | None]) -> str | None:
    """The only mistake that fits; None if several fit, or the right computation, which is also None, does."""
    found = set(fitting)
    return found.pop() if len(found) == 1 else None
