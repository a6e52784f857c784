"""How values are spread: mean, median, lowest and highest value, and a histogram with bins of a round width."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import fmean, median

MOST_BINS = 10


@dataclass(frozen=True)
class Bin:
    """How many values lie in ``low <= value < high``; if ``low == high``, how many are equal to ``low``."""

    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Distribution:
    """Statistics of some values, and a histogram of them in ``bins``, all of one width."""

    mean: float
    median: float
    lowest: float
    highest: float
    bins: tuple[Bin, ...]


def distribution(values: Sequence[float], most: float | None = None) -> Distribution:
    """The distribution of values; bins start at 0 and have a round width.

    Args:
        values: At least one value, none negative.
        most: The largest possible value, if there is one; values equal to it are counted in a bin of their own.
    """
    top = max(values) if most is None else most
    width = _round_width(top or 1.0)
    edges = [width * number for number in range(math.ceil(top / width) if most else int(top / width) + 1)]
    bins = [(low, low + width if most is None else min(low + width, most)) for low in edges]
    if most is not None:
        bins.append((most, most))
    counts = Counter(bisect_right(bins, value, key=itemgetter(0)) - 1 for value in values)
    counted = tuple(Bin(low, high, counts[number]) for number, (low, high) in enumerate(bins))
    return Distribution(fmean(values), median(values), min(values), max(values), counted)


def _round_width(top: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 … and their tenths, hundredths … that makes no more than ten bins."""
    power = 10.0 ** math.floor(math.log10(top / MOST_BINS))
    return next(width for factor in (1, 2, 5, 10) if top / (width := factor * power) <= MOST_BINS)
