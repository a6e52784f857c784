"""Statistics of a class: how points are spread, and how many submissions pass a property or have a misconception."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from statistics import StatisticsError, correlation, fmean, median

from .outcome import Outcome
from .report import Practice, PropertyReport, Report, SummaryLine, summary_line

MOST_BINS = 10
BESIDE = ("practice", "understood")  # by notebooks, and by answers to questions about one's own code


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
    """The distribution of one or more values, none negative; bins start at 0 and have a round width.

    Values that are equal to ``most``, the largest possible value, are counted in a bin of their own.
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


@dataclass(frozen=True)
class Entry:
    """What a class needs of one report; thousands of these fit into memory.

    Attributes:
        line: Of the summary.
        tasks: From the id of a task to its points and the most that it can earn; empty if nothing was run.
        properties: By their ids, without their cases; empty if the submission was not graded.
        environment: The devices, and the layers of isolation, each as one text.
        beside: The points beside the score, which never count in it, by what they are for: ``BESIDE`` in part.
    """

    line: SummaryLine
    tasks: Mapping[str, tuple[float, float]]
    properties: Mapping[str, PropertyReport]
    duration_s: float
    environment: tuple[str, str]
    beside: Mapping[str, Practice]

    def points(self, task: str) -> float | None:
        """The points that a task earned; None if it was not graded."""
        return None if self.line.score is None or task not in self.tasks else self.tasks[task][0]

    @cached_property
    def earned(self) -> float:
        """The points of all properties."""
        return sum(result.points for result in self.properties.values())


@dataclass(frozen=True)
class PropertyStatistic:
    """One property over the class.

    Attributes:
        passed: How many submissions passed.
        assessed: How many graded submissions ran on a machine that can judge this property.
        discrimination: Correlation over the assessed submissions between passing this property (1 or 0) and the points
            of all other properties; None if either is the same for all of them.
    """

    id: str
    max_points: float
    passed: int
    assessed: int
    discrimination: float | None

    @property
    def rate(self) -> float | None:
        """The share of assessed submissions that passed; None if none was assessed."""
        return self.passed / self.assessed if self.assessed else None


@dataclass(frozen=True)
class MisconceptionStatistic:
    """How many submissions hold a misconception, and in which properties it cost points."""

    id: str
    properties: tuple[str, ...]
    submissions: int


@dataclass(frozen=True)
class ClassStatistics:
    """All statistics of a class.

    A distribution is None if no submission was graded, or no points could be earned. For each outcome, ``outcomes`` has
    the numbers of properties that ended with it, and of submissions with such a property.
    """

    statuses: Mapping[str, int]
    score: Distribution | None
    bonus: Distribution | None
    duration_s: Distribution | None
    properties: tuple[PropertyStatistic, ...]
    misconceptions: tuple[MisconceptionStatistic, ...]
    outcomes: Mapping[Outcome, tuple[int, int]]
    environments: Mapping[tuple[str, str], int]


def entry(report: Report, *beside: Practice | None) -> Entry:
    """What a class needs of a report; ``beside`` are the points for each of ``BESIDE``, None where there are none."""
    earned = {name: points for name, points in zip(BESIDE, beside, strict=False) if points}
    return Entry(
        summary_line(report, earned.get("practice")),
        tasks={task.id: (task.score, task.max_score) for task in report.tasks},
        properties={
            name: prop.model_copy(update={"cases": []})
            for name, prop in (report.properties if report.status == "graded" else {}).items()
        },
        duration_s=report.provenance.duration_s,
        environment=(", ".join(report.environment.devices), report.environment.isolation),
        beside=earned,
    )


def beside(entries: Sequence[Entry]) -> list[str]:
    """Those of ``BESIDE`` for which somebody in the class has points."""
    return [name for name in BESIDE if any(name in one.beside for one in entries)]


def class_statistics(entries: Sequence[Entry]) -> ClassStatistics:
    """The statistics of a class; points and properties are counted over the graded submissions only."""
    graded = [entry for entry in entries if entry.line.status == "graded"]
    properties = {name: None for entry in graded for name in entry.properties}  # in order, each once
    durations = [entry.duration_s for entry in graded]
    return ClassStatistics(
        statuses=Counter(entry.line.shown for entry in entries),
        score=_points((entry.line.score, entry.line.max_score) for entry in graded),
        bonus=_points((entry.line.bonus, entry.line.max_bonus) for entry in graded),
        duration_s=distribution(durations) if durations else None,
        properties=tuple(_property(name, graded) for name in properties),
        misconceptions=_misconceptions(graded),
        outcomes=_outcomes(graded),
        environments=Counter(entry.environment for entry in graded),
    )


def _points(pairs: Iterable[tuple[float | None, float]]) -> Distribution | None:
    known = [(points, most) for points, most in pairs if points is not None]
    top = max((most for _, most in known), default=0)
    return distribution([points for points, _ in known], top) if top else None


def _property(name: str, graded: Iterable[Entry]) -> PropertyStatistic:
    having = [entry for entry in graded if name in entry.properties]
    assessed = [entry for entry in having if entry.properties[name].outcome is not Outcome.NOT_ASSESSED]
    passed = [entry.properties[name].outcome is Outcome.PASSED for entry in assessed]
    others = [entry.earned - entry.properties[name].points for entry in assessed]
    return PropertyStatistic(
        name, having[0].properties[name].max_points, sum(passed), len(assessed), _correlation(passed, others)
    )


def _correlation(passed: Sequence[bool], points: Sequence[float]) -> float | None:
    try:
        return correlation([float(holds) for holds in passed], points)
    except StatisticsError:  # fewer than two submissions, or all the same
        return None


def _misconceptions(graded: Iterable[Entry]) -> tuple[MisconceptionStatistic, ...]:
    """Sorted by number of submissions, most first, then by id."""
    holders: dict[str, set[str]] = {}
    properties: dict[str, dict[str, None]] = {}
    for entry in graded:
        for name, result in entry.properties.items():
            if result.misconception:
                holders.setdefault(result.misconception, set()).add(entry.line.id)
                properties.setdefault(result.misconception, {})[name] = None
    found = [MisconceptionStatistic(name, tuple(properties[name]), len(ids)) for name, ids in holders.items()]
    return tuple(sorted(found, key=lambda one: (-one.submissions, one.id)))


def _outcomes(graded: Sequence[Entry]) -> dict[Outcome, tuple[int, int]]:
    """In the order of :class:`Outcome`."""
    counts = [Counter(result.outcome for result in entry.properties.values()) for entry in graded]
    total = sum(counts, Counter[Outcome]())
    return {
        outcome: (total[outcome], sum(outcome in count for count in counts)) for outcome in Outcome if total[outcome]
    }
