"""A second hand-in, which regains a part of the points that the first one lost; both keep their reports.

The part is ``repair`` in the rubric's ``[policy]``. ``grade --round repair`` grades the second round into a folder of
its own beside the reports of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..results.report import Report, Summary, SummaryLine, summary_line
from ..results.view import overridden, revalued
from ..results.written import SUMMARY, ReadT
from ..rubric import Rubric
from .people import Key, key, students

REPAIR = "round-repair"  # the folder of the second round's reports


class Read(Protocol):
    """Reads a file of reports, or ends the command."""

    def __call__(self, path: Path, model: type[ReadT], /) -> ReadT:
        """What the file holds."""


def read_model(path: Path, model: type[ReadT], /) -> ReadT:
    """What a file of reports holds.

    Raises:
        ValidationError: If it is damaged.
    """
    return model.model_validate_json(path.read_bytes())


@dataclass(frozen=True)
class Regained:
    """A property that the second hand-in does better.

    Attributes:
        points: The part of the difference that counts.
    """

    id: str
    title: str
    first: float
    second: float
    points: float


@dataclass(frozen=True)
class Repair:
    """What a second hand-in regains.

    Attributes:
        report: The first report, with what is regained.
        share: The part of each difference that counts, from 0 to 1.
        regained: One entry for each property that is better, in the order of the rubric.
    """

    report: Report
    share: float
    regained: tuple[Regained, ...]

    @property
    def points(self) -> float:
        """All that is regained."""
        return sum(own.points for own in self.regained)


class Rounds:
    """The second round of a class, if there is one.

    Attributes:
        folder: Its reports.
    """

    def __init__(self, folder: Path, rubric: Rubric, read: Read) -> None:
        """Read who handed in a second time.

        Args:
            folder: The reports of the first round.
            rubric: Has the share; without one, no second round counts.
            read: Reads a file that an earlier command has written.
        """
        self.folder, self._rubric = folder / REPAIR, rubric
        self._report: Callable[[Path], Report] = lambda path: read(path, Report)
        path = self.folder / SUMMARY
        counts = rubric.policy.repair is not None and path.exists()
        lines = read(path, Summary).submissions if counts else []
        self._of: dict[Key, list[SummaryLine]] = {}
        for line in lines:
            for student in students(line.id, line.origin):
                self._of.setdefault(key(student), []).append(line)

    def revalued(self, points: Mapping[str, float]) -> Rounds:
        """The same second round, as if some properties were worth other points; see :func:`..results.view.revalued`."""
        other, rubric = copy(self), self._rubric
        other._report = lambda path: revalued(self._report(path), points, rubric)
        return other

    def path(self, line: SummaryLine) -> Path | None:
        """Where the report of the same students' second hand-in is; None if none counts.

        Of several, the one with the same id as the first hand-in counts.
        """
        found = {own.id for student in students(line.id, line.origin) for own in self._of.get(key(student), ())}
        name = line.id if line.id in found else found.pop() if len(found) == 1 else None
        return self.folder / name / "report.json" if name else None

    def repair(self, first: Report) -> Repair | None:
        """What the second hand-in regains; None if there is none, or if it is no better."""
        share = self._rubric.policy.repair
        path = self.path(summary_line(first))
        if share is None or path is None or first.status == "grader_error":
            return None
        found = repaired(first, self._report(path), share, self._rubric)
        return found if found.regained else None

    def counted(self, first: Report) -> Report:
        """A report with what the second hand-in regains."""
        found = self.repair(first)
        return found.report if found else first

    def line(self, line: SummaryLine, first: Callable[[str], Report]) -> SummaryLine:
        """A line of the summary with what the second hand-in regains; ``first`` gives the report of the first one."""
        return summary_line(self.counted(first(line.id)), line.practice) if self.path(line) else line


def repaired(first: Report, second: Report, share: float, rubric: Rubric) -> Repair:
    """The first report with a share of what the second one earns beyond it, property by property."""
    earned = {prop.id: prop for task in second.tasks for prop in task.properties}
    if first.status != "graded":  # nothing was earned, so that all is to be regained
        nothing = dict.fromkeys(earned, 0.0)
        first = overridden(second, nothing, rubric).model_copy(update={"submission": first.submission})
    regained = tuple(
        Regained(prop.id, prop.title, prop.points, then.points, round(share * (then.points - prop.points), 2))
        for task in first.tasks
        for prop in task.properties
        if (then := earned.get(prop.id)) and then.points > prop.points
    )
    points: Mapping[str, float] = {own.id: own.first + own.points for own in regained}
    return Repair(overridden(first, points, rubric), share, regained)
