"""How far a correct answer may be from the exact one: each tolerance with its reason.

All are counted in units in the last place (ulp): the distance between two neighbouring numbers of a dtype.
"""

import torch
from torch import Tensor


def ulp(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Distance between neighbouring ``dtype`` numbers near ``scale``, in float64."""
    scale = scale.double().abs().clamp_min(torch.finfo(dtype).tiny)
    return torch.ldexp(torch.full_like(scale, torch.finfo(dtype).eps), torch.frexp(scale).exponent - 1)


def forward(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """Every step of a formula may round once, and formulas differ in their steps."""
    return (16 if dtype == torch.float32 else 4) * ulp(exact, dtype)


def nearest(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """Half an ulp is what the last conversion costs; float32 arithmetic before it costs a hundredth more."""
    return 0.51 * ulp(exact, dtype)


def gradient(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """A gradient adds terms that may cancel, so ``scale`` is the sum of their absolute values."""
    return (1024 if dtype == torch.float32 else 6) * ulp(scale, dtype)


def draw(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Shifting and stretching a standard draw by hand rounds otherwise than drawing directly, by 4 ulp at most."""
    return 4 * ulp(scale, dtype)
