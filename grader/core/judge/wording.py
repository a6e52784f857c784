"""Messages about a wrong tensor: where and how it is wrong, but never the expected values."""

from __future__ import annotations

from itertools import groupby

import torch
from torch import Tensor

from grader.core.messages import Message, say

SAME_FACTOR = 2.0**-7  # relative: quotients of 16-bit numbers differ by as much when the factor is the same
ENOUGH = 4  # elements that have to agree, so that a common factor is no coincidence
FAR = 1000  # times the expected size: for larger errors the exact number does not matter
ZEROS = say("zero wherever it is wrong")
ALIKE = say("all of these are the same number")
CLAMPED = say("all of these are clamped to the same magnitude")
PLACES = "{what}: shape {shape}, {n} of {all} elements wrong, the first at {place}"
STEPS = "largest error in rounding steps: {worst}; allowed: {limit}"
SAME_MULTIPLE = "all of these are {factor} times the expected value"
SLIGHT_FACTOR = say("all of these are off by the same factor, close to 1")
ORDER = "along dimension {dim}, {here} hold the values that belong at {there}"
MOST = 0.5  # of the elements at some places: then the places say more than the first one does
LARGE = 10_000  # from here on, two decimals would be more than six digits
LISTED = 6  # places that a message lists
COMPARED = 1 << 20  # differences of slices; larger tensors are not searched for another order
SIMILAR, ALIKENESS = 2, 0.3  # times the expected size: where a percentage would sound as if numbers were nearly right
UNRELATED = say("of about the right size, but not close to the expected values")
VISIBLE = 0.01  # of the expected size: smaller errors are told in rounding steps


def places(what: Message, wrong: Tensor) -> Message:
    """The shape of ``what``, how many elements are wrong, and where the first one is."""
    place = wrong.to(torch.uint8).argmax()  # a list of all places may be larger than the tensor
    first = [int(index) for index in torch.unravel_index(place, wrong.shape)]
    return say(PLACES, what=what, shape=wrong.shape, n=int(wrong.sum()), all=wrong.numel(), place=first)


def own_look(values: Tensor) -> Message | None:
    """What is striking about wrong elements without knowing the expected ones; None if nothing is."""
    if not bool(values.isfinite().all()):
        return say("not finite: {n}", n=int((~values.isfinite()).sum()))
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
    share = float(((values - expected).abs() / scale.abs()).max())
    if len(values) >= ENOUGH and bool((expected != 0).all()):
        factors = values / expected
        first = factors.median()
        if bool(((factors - first).abs() <= SAME_FACTOR * first.abs()).all()):
            if abs(float(first) + 1) <= SAME_FACTOR:
                return say("all of these have the opposite sign")
            if abs(float(first) - 1) > VISIBLE:
                return say(SAME_MULTIPLE, factor=as_factor(float(first)))
        constant |= share < VISIBLE  # so do numbers that were rounded alike
        sizes = values.abs()
        cut = (sizes <= expected.abs()) & (values * expected > 0) & ((sizes - sizes[0]).abs() <= SAME_FACTOR * sizes[0])
        if bool(cut.all()) and not constant:
            return CLAMPED
        added = values - expected
        if bool(((added - added[0]).abs() <= SAME_FACTOR * added[0].abs()).all()) and not constant:
            return say("all of these are off by the same constant")
    alike = float((values @ expected).abs() / (values.norm() * expected.norm()))  # one for a multiple
    if len(values) >= ENOUGH and share < SIMILAR and alike < ALIKENESS:
        return UNRELATED
    return _share(share) if VISIBLE <= share < torch.inf else None


def pattern(actual: Tensor, expected: Tensor, wrong: Tensor) -> list[Message]:
    """At which indices of a dimension elements are wrong, and whether slices have changed places, both where striking.

    Args:
        actual: What came, float64.
        expected: What should have come, of the same shape.
        wrong: Which elements are wrong.
    """
    factors = actual[wrong] / expected[wrong]
    off = (first := factors.median()) - 1
    rounded_alike = len(expected[wrong].abs().frexp().mantissa.unique()) < ENOUGH  # or such numbers, by the same factor
    close = abs(float(off)) <= VISIBLE and not rounded_alike and bool(((factors - first).abs() <= off.abs() / 8).all())
    found = [SLIGHT_FACTOR] * close
    for dim, size in enumerate(wrong.shape):
        if size < 2 or wrong.numel() == size:
            continue  # a single element may agree by coincidence
        counts = wrong.movedim(dim, 0).flatten(1).double().mean(-1)
        held = counts > 0
        if not bool(held[1:].all()) and bool((counts[held] >= MOST).all()):
            found.append(say("wrong only at these indices of dimension {dim}: {places}", places=listed(held), dim=dim))
        if served := _served(actual.movedim(dim, 0), expected.movedim(dim, 0)):
            moved = [(here, there) for here, there in enumerate(served) if here != there][:LISTED]
            here, there = (str(list(places)) for places in zip(*moved, strict=True))
            return [say(ORDER, dim=dim, here=here, there=there)]
    return found


def listed(chosen: Tensor) -> str:
    """The indices at which a mask is true: all, or the first ones; three or more in a row are a range."""
    places, told = chosen.nonzero().flatten().tolist(), list[str]()
    for _, run in groupby(enumerate(places), key=lambda numbered: numbered[1] - numbered[0]):
        row = [place for _, place in run]
        told.extend([f"{row[0]}–{row[-1]}"] if len(row) > 2 else map(str, row))
    return ", ".join(told[:LISTED]) + " …" * (len(told) > LISTED)


def _served(actual: Tensor, expected: Tensor) -> list[int] | None:
    """For each slice ``[i]`` of what came the one slice of the expected tensor that it equals; None if any has none.

    None, too, if all slices are in their own places, or if there are too many of them.
    """
    size = len(actual)
    if size * actual.numel() > COMPARED:
        return None
    actual, expected = actual.reshape(size, -1), expected.reshape(size, -1)
    off = (actual.unsqueeze(1) - expected).abs().amax(-1)  # [came, expected]
    same = off <= SAME_FACTOR * expected.abs().amax(-1)
    alone = bool((same.sum(-1) == 1).all()) and not bool(same.diagonal().all())
    return same.to(torch.uint8).argmax(-1).tolist() if alone else None


def in_steps(worst: float, limit: float) -> Message:
    """The largest error in rounding steps, for errors that are small relative to the element."""
    worst = round_to(worst, 3)
    return say(STEPS, worst=f"{worst:.0f}", limit=f"{limit:g}")


def _share(share: float) -> Message:
    if share > FAR:
        return say("off by more than {n} times their magnitude", n=FAR)
    rounded = round_to(share, 1)
    if rounded < 2:
        return say("off by up to {n}% of their magnitude", n=f"{100 * rounded:g}")
    return say("off by up to {n} times their magnitude", n=f"{rounded:g}")


def in_two_decimals(value: float) -> str:
    """A number that a submission has a say in: with more digits, a message could carry a number of a test's input."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < LARGE else f"{value:.2g}"


def as_factor(value: float) -> str:
    """Such a number, as a power of ten where two decimals would make zero of it."""
    return f"{value:.0e}" if abs(value) < 0.005 else in_two_decimals(value)


def round_to(value: float, digits: int) -> float:
    """Round to so many significant digits; more are of no use to a reader."""
    return float(f"{value:.{digits}g}")
