"""Outputs as plain numbers, whatever their shape, and the dtypes for which there are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor

from grader.testing import DTYPES, Crashed, InvalidReply, check_shape, say


def numbers(output: Tensor, shape: torch.Size | tuple[int, ...]) -> Tensor:
    """An output as float64 on the CPU, reshaped to ``shape``; a wrong shape is another property's charge.

    Raises:
        StudentFault: If it has no real numbers, or another number of elements.
    """
    if not output.is_floating_point():
        raise InvalidReply(say("not a real tensor"))
    if output.numel() != math.prod(shape):
        check_shape(output, list(shape))
    return output.detach().cpu().double().reshape(shape)


def refused(call: Callable[[torch.dtype, torch.dtype], object]) -> frozenset[tuple[torch.dtype, torch.dtype]]:
    """The pairs of dtypes for which a call crashes."""
    pairs = []
    for pair in product(DTYPES, DTYPES):
        try:
            call(*pair)
        except Crashed:
            pairs.append(pair)
    return frozenset(pairs)
