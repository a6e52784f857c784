"""Tolerances: how far a correct answer may be from the exact one, each with its reason.

All are multiples of a unit in the last place (ulp): the distance between two neighbouring numbers of a dtype.
"""

import torch
from torch import Tensor


def ulp(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Distance between neighbouring ``dtype`` numbers near ``scale``, in float64."""
    scale = scale.double().abs().clamp_min(torch.finfo(dtype).tiny)
    return torch.ldexp(torch.full_like(scale, torch.finfo(dtype).eps), torch.frexp(scale).exponent - 1)


def forward(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """For outputs: every step of a formula may round once, and correct formulas differ in their steps."""
    return (16 if dtype == torch.float32 else 4) * ulp(exact, dtype)


def nearest(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """For a result in float32 that is rounded to 16 bits once: half an ulp, and a hundredth for float32's own error."""
    return 0.51 * ulp(exact, dtype)


def gradient(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """For gradients: their terms may cancel when they are added, so ``scale`` is the sum of absolute values."""
    return (1024 if dtype == torch.float32 else 6) * ulp(scale, dtype)


def draw(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """For random draws: a standard draw that is scaled and shifted differs from a direct draw by 4 ulp at most."""
    return 4 * ulp(scale, dtype)
