"""What a student reads about a wrong tensor: where, and in which way, but never what it should have been."""

from __future__ import annotations

import torch
from torch import Tensor

SAME_FACTOR = 2.0**-7  # relative: quotients of 16-bit numbers differ by as much when the factor is the same
ENOUGH = 4  # elements that have to agree, so that a common factor is no coincidence
FAR = 1000  # times the expected size: for larger errors the exact number does not matter
ALIKE = "all of these are the same number"
VISIBLE = 0.01  # of the expected size: smaller errors are told in rounding steps


def places(wrong: Tensor) -> str:
    """The shape, how many elements are wrong, and where the first one is."""
    place = int(wrong.to(torch.uint8).flatten().argmax())  # a list of all places may be larger than the tensor
    first: list[int] = []
    for size in reversed(wrong.shape):
        place, index = divmod(place, size)
        first.insert(0, index)
    return f"shape {list(wrong.shape)}, {int(wrong.sum())} of {wrong.numel()} elements are wrong, the first at {first}"


def own_look(values: Tensor) -> str:
    """What is striking about wrong elements without knowing the expected ones; empty if nothing is."""
    if not bool(values.isfinite().all()):
        return f"{int((~values.isfinite()).sum())} are not finite"
    if not bool(values.any()):
        return "all of these are zero"
    if values.numel() >= ENOUGH and bool((values == values[0]).all()):
        return ALIKE
    return ""


def relation(values: Tensor, expected: Tensor, scale: Tensor) -> str:
    """How wrong elements differ from the expected ones, without giving a value away; empty for a small error.

    Args:
        values: The wrong elements, ``[n]``, float64.
        expected: What they should be, ``[n]``, float64.
        scale: The magnitude that their errors are measured by, ``[n]``, float64.
    """
    constant = bool((expected == expected[:1]).all())  # then equal elements say nothing about the mistake
    if (look := own_look(values)) and not (constant and look == ALIKE):
        return look
    if len(values) >= ENOUGH and bool((expected != 0).all()):
        factors = values / expected
        first = factors.median()
        if bool(((factors - first).abs() <= SAME_FACTOR * first.abs()).all()):
            if abs(float(first) + 1) <= SAME_FACTOR:
                return "all of these have the opposite sign"
            if abs(float(first) - 1) > VISIBLE:
                return f"all of these are too {'large' if abs(float(first)) > 1 else 'small'} by the same factor"
    share = float(((values - expected).abs() / scale.abs()).max())
    return _share(share) if VISIBLE <= share < torch.inf else ""


def in_steps(worst: float, limit: float) -> str:
    """The largest error in rounding steps, for an error that is small beside the element."""
    return f"off by up to {round_to(worst, 3):.0f} rounding steps, where {limit:g} are allowed"


def _share(share: float) -> str:
    if share > FAR:
        return f"off by more than {FAR} times their size"
    rounded = round_to(share, 1)
    return (
        f"off by up to {100 * rounded:g}% of their size"
        if rounded < 2
        else f"off by up to {rounded:g} times their size"
    )


def round_to(value: float, digits: int) -> float:
    """Round to so many significant digits; more are of no use to a reader."""
    return float(f"{value:.{digits}g}")
