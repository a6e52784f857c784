"""What a student reads about a wrong tensor: where, and in which way, but never what it should have been."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.core.messages import Message, say

SAME_FACTOR = 2.0**-7  # relative: quotients of 16-bit numbers differ by as much when the factor is the same
ENOUGH = 4  # elements that have to agree, so that a common factor is no coincidence
FAR = 1000  # times the expected size: for larger errors the exact number does not matter
ZEROS = say("all of these are zero")
ALIKE = say("all of these are the same number")
PLACES = "{what}: shape {shape}, {n} of {all} elements are wrong, the first at {place}"
TOO_LARGE = "all of these are too large by the same factor"
TOO_SMALL = "all of these are too small by the same factor"
VISIBLE = 0.01  # of the expected size: smaller errors are told in rounding steps


def places(what: Message, wrong: Tensor) -> Message:
    """The shape of ``what``, how many elements are wrong, and where the first one is."""
    place = int(wrong.to(torch.uint8).flatten().argmax())  # a list of all places may be larger than the tensor
    first: list[int] = []
    for size in reversed(wrong.shape):
        place, index = divmod(place, size)
        first.insert(0, index)
    return say(PLACES, what=what, shape=wrong.shape, n=int(wrong.sum()), all=wrong.numel(), place=first)


def own_look(values: Tensor) -> Message | None:
    """What is striking about wrong elements without knowing the expected ones; None if nothing is."""
    if not bool(values.isfinite().all()):
        return say("{n} are not finite", n=int((~values.isfinite()).sum()))
    if not bool(values.any()):
        return ZEROS
    if values.numel() >= ENOUGH and bool((values == values[0]).all()):
        return ALIKE
    return None


def relation(values: Tensor, expected: Tensor, scale: Tensor) -> Message | None:
    """How wrong elements differ from the expected ones, without giving a value away; None for a small error.

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
                return say("all of these have the opposite sign")
            if abs(float(first) - 1) > VISIBLE:
                return say(TOO_LARGE if abs(float(first)) > 1 else TOO_SMALL)
    share = float(((values - expected).abs() / scale.abs()).max())
    return _share(share) if VISIBLE <= share < torch.inf else None


def in_steps(worst: float, limit: float) -> Message:
    """The largest error in rounding steps, for an error that is small beside the element."""
    worst = round_to(worst, 3)
    return say(
        "off by up to {worst} rounding steps, where {limit} are allowed", worst=f"{worst:.0f}", limit=f"{limit:g}"
    )


def _share(share: float) -> Message:
    if share > FAR:
        return say("off by more than {n} times their size", n=FAR)
    rounded = round_to(share, 1)
    if rounded < 2:
        return say("off by up to {n}% of their size", n=f"{100 * rounded:g}")
    return say("off by up to {n} times their size", n=f"{rounded:g}")


def round_to(value: float, digits: int) -> float:
    """Round to so many significant digits; more are of no use to a reader."""
    return float(f"{value:.{digits}g}")
