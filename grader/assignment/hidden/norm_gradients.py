"""Task 1: how gradients are asked for, as rows of a covering array."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, F32, Layout, across, plain
from grader.assignment.hidden.norm_inputs import Shape
from grader.testing import Message, normal, say, stated, uniform

EPS = 1e-5
ALONE_TAKING = {
    "arguments": say("\nGamma is frozen here, by gamma.requires_grad_(False); where it is not, this passes."),
    "parameters": say("\nThe input requires no gradient here, as in a first layer; where it does, this passes."),
}


class Asked(NamedTuple):
    """How a gradient is asked for: a value of each axis. Every two values of two axes meet in some row of ``ASKED``."""

    dtype: torch.dtype
    gamma_dtype: torch.dtype
    shape: Shape  # several groups, one group, or groups of one feature
    eps: float  # small or large beside the mean squares of the input
    upstream: Layout
    input: Layout
    training: bool
    between: bool  # whether a call comes between forward and backward
    alone: str = ""  # what alone takes a gradient in a second call: "arguments" if gamma is frozen, or "parameters"

    @property
    def group_size(self) -> int:
        """That of the module."""
        return self.shape[-1]

    @property
    def told(self) -> Message:
        """The module's arguments, for messages."""
        return stated(hidden_size=self.shape[2], group_size=self.group_size, eps=f"{self.eps:g}")

    def tensors(self, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Input, upstream gradient and gamma, in which a zero divides what was multiplied by it."""
        *shape, _ = self.shape
        x = normal(seed, "x", shape=tuple(shape)) * (1 if self.eps > EPS else 16)
        gamma = uniform(seed, "gamma", shape=(shape[2],), low=0.5, high=2.0)
        gamma[-2] = 0
        upstream = normal(seed, "upstream", shape=tuple(shape))
        return self.input(x.to(self.dtype)), upstream.to(self.dtype), gamma.to(self.gamma_dtype)

    def zeros(self, x: Tensor) -> Tensor:
        """Where the input is zero by the contract: groups of zeros have a gradient, too, at its steepest."""
        zeros = torch.zeros_like(x, dtype=torch.bool)
        zeros[:, : None if self.shape in (MORE, EACH) else 1, : self.group_size] = True  # of some tokens, or of all
        return zeros


SEVERAL, ONE, EACH = (2, 3, 24, 4), (2, 3, 24, 24), (2, 3, 24, 1)
MORE = (2, 5, 40, 8)  # no law makes groups of one feature of this, nor of SEVERAL
ASKED = (
    Asked(F32, F32, SEVERAL, EPS, across, across, training=False, between=True, alone="parameters"),
    Asked(F32, F32, MORE, 0.75, across, plain, training=True, between=False),
    Asked(F32, F16, ONE, EPS, across, across, training=True, between=False),
    Asked(F32, F16, EACH, EPS, across, across, training=False, between=True),
    Asked(F32, BF16, EACH, EPS, across, across, training=True, between=False),
    Asked(F32, BF16, ONE, 0.75, plain, across, training=False, between=False, alone="arguments"),
    Asked(F16, F32, EACH, 0.75, across, across, training=True, between=False, alone="arguments"),
    Asked(F16, F16, ONE, 0.75, plain, plain, training=True, between=True, alone="parameters"),
    Asked(F16, BF16, SEVERAL, EPS, plain, across, training=False, between=True),
    Asked(BF16, F32, ONE, EPS, plain, across, training=True, between=False),
    Asked(BF16, F16, SEVERAL, EPS, across, plain, training=True, between=True, alone="arguments"),
    Asked(BF16, BF16, EACH, 0.75, plain, plain, training=False, between=False, alone="parameters"),
)


def asked(dtype: torch.dtype, gamma_dtype: torch.dtype) -> list[Asked]:
    """The rows with these dtypes."""
    return [row for row in ASKED if (row.dtype, row.gamma_dtype) == (dtype, gamma_dtype)]
