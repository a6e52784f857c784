"""What stands in for a layer that is still to write: functions of torch, in the order in which GGUF keeps features.

They compute what the published model computes, so they are also what a student's layers are compared with.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from ..demo.model import Layer, Slots
from .llama import Llama


def slots(model: Llama) -> Slots:
    """The layers of the published model."""
    return Slots(
        lambda ids: functional.embedding(ids, model.table),
        norms(model, model.gammas),
        Turns(model.sizes.head_dim, model.sizes.base),
    )


def norms(model: Llama, gammas: Tensor) -> list[Layer]:
    """Torch's norm in each place."""
    normalise = partial(functional.rms_norm, normalized_shape=(model.sizes.hidden,), eps=model.sizes.eps)
    return [partial(normalise, weight=gamma) for gamma in gammas]


class Turns:
    """Takes neighbouring features as complex numbers, and multiplies each by a power of its own unit number.

    Args:
        head_dim: Features of a head.
        base: The last pair turns almost this many times more slowly than the first.
    """

    def __init__(self, head_dim: int, base: int) -> None:
        """Find the number of each pair, ``[head_dim / 2]``."""
        pairs = head_dim // 2
        speeds = torch.logspace(0, 1 / pairs - 1, pairs, base, dtype=torch.float64)
        self._units = torch.polar(torch.ones_like(speeds), speeds)
        self._powers = self._units[:0, None]  # [s, 1, head_dim / 2], of the positions so far

    def __call__(self, x: Tensor) -> Tensor:
        """``[1, s, heads, head_dim]``, each position by the power that is its number."""
        length = x.shape[1]
        if length > len(self._powers):
            self._powers = (self._units ** torch.arange(2 * length)[:, None, None]).to(torch.complex64)
        turned = self._powers[:length] * torch.complex(x[..., ::2], x[..., 1::2])
        return torch.stack((turned.real, turned.imag), dim=-1).flatten(-2)


def halves(x: Tensor) -> Tensor:
    """Features in the order of the assignment: the first of every pair, then the second."""
    return x.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
