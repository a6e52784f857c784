"""Gradients by finite differences, computed from a function's own outputs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.testing import Message, check_close, say

STEP = 2.0**-5  # of an element's size: larger steps suffer from curvature, smaller ones from float32's rounding
DIFFERENCE_LIMIT = 0.02  # of the size of a gradient


def slopes(function: Callable[[Tensor], Tensor], at: Tensor, upstream: Tensor) -> Tensor:
    """One-sided slopes of ``sum(upstream * function(at))`` above and below ``at``: ``[2, *at.shape]``, float64.

    Args:
        function: Called with tensors like ``at``, twice for each element; returns a tensor like ``upstream``.
        at: float32.
        upstream: In the shape of the output.
    """
    here, flat = function(at), at.flatten()
    found = torch.empty(2, at.numel(), dtype=torch.float64)
    for index in range(at.numel()):
        step = STEP * max(float(flat[index].abs()), float(at.abs().mean()))
        for side, signed in enumerate((step, -step)):
            moved = flat.clone()
            moved[index] += signed
            change = (function(moved.reshape(at.shape)) - here) * upstream.double()
            found[side, index] = change.sum() / float(moved[index] - flat[index])
    return found.reshape(2, *at.shape)


def check_differences(
    gradient: Tensor, function: Callable[[Tensor], Tensor], at: Tensor, upstream: Tensor, what: Message
) -> None:
    """Require each element of a gradient to lie between its two one-sided slopes, or close to them.

    Only as many elements are compared as both ``gradient`` and ``at`` have. If the function does not depend on ``at``,
    nothing is.

    Raises:
        WrongAnswer: If it does not.
    """
    low, high = slopes(function, at, upstream).flatten(1)[:, : gradient.numel()].sort(0).values
    middle, given = (low + high) / 2, gradient.detach().cpu().double().flatten()[: at.numel()]
    if bool(middle.any()):
        nearest = given.clamp(low, high)
        size = middle.abs().max().expand_as(middle)
        limit = DIFFERENCE_LIMIT * 2.0**23
        check_close(
            given, nearest, size, torch.float32, limit, say("{what}, compared with finite differences", what=what)
        )
