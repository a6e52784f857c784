"""Gradients by differences: what a function's own outputs say its gradient is."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

STEP = 2.0**-5  # of the size of what is moved: a balance of float32's rounding and of the curvature
DIFFERENCE_LIMIT = 0.02  # of the size of a gradient


def difference_gradient(function: Callable[[Tensor], Tensor], at: Tensor, upstream: Tensor) -> Tensor:
    """The gradient of ``sum(upstream * function(at))`` by central differences, float64, in the shape of ``at``.

    Args:
        function: From a tensor like ``at`` to one like ``upstream``; two calls for each element.
        at: float32.
        upstream: In the shape of the output.
    """
    gradient = torch.empty(at.numel(), dtype=torch.float64)
    for index in range(at.numel()):
        step = STEP * max(float(at.flatten()[index].abs()), float(at.abs().mean()))
        above, below = at.clone().flatten(), at.clone().flatten()
        above[index] += step
        below[index] -= step
        change = function(above.reshape(at.shape)) - function(below.reshape(at.shape))
        gradient[index] = (change * upstream.double()).sum() / float(above[index] - below[index])
    return gradient.reshape(at.shape)
