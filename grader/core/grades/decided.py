"""A class with what people decided about it: reports, grades and the summary as they hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from grader.core.extras import extra
from grader.core.results.report import Attention, Report, SummaryLine, summary_line
from grader.core.rubric import Rubric

from .book import NOTHING, Book, Read
from .grades import StudentGrade, by_submission, decided, grades
from .model import FILE, FOLDER, DecisionError
from .words import for_staff

STALE: Final = "stale_decision"


@dataclass(frozen=True)
class DecidedClass:
    """A class with what people decided.

    Attributes:
        lines: Of the summary; their points are the grader's.
        book: The decisions.
        as_graded: Gives a report as the grader wrote it.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    book: Book
    rubric: Rubric
    as_graded: Read

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self.book.people.lines.get(submission) or summary_line(self.as_graded(submission))

    def report(self, submission: str) -> Report:
        """A report with the points that people decided on."""
        return decided(self.as_graded(submission), self.book, self.rubric)

    def in_force(self, line: SummaryLine) -> SummaryLine:
        """A line of the summary with the points that people decided on."""
        return summary_line(self.report(line.id), line.practice) if self.book.points(line.id) else line

    def graded_again(self, reports: Mapping[str, Report]) -> DecidedClass:
        """The same class with the same decisions, and with other reports in the place of some."""

        def read(submission: str) -> Report:
            return reports.get(submission) or self.as_graded(submission)

        lines = [summary_line(reports[own.id], own.practice) if own.id in reports else own for own in self.lines]
        return replace(self, lines=lines, as_graded=read)

    def told(self, language: str) -> list[tuple[str, str]]:
        """Every decision that holds: the submission that it is about, and the words for staff."""
        held = ((line.id, ruling) for line in self.lines for ruling in self.book.about(line))
        return [(submission, for_staff(ruling, self.rubric, language)) for submission, ruling in held]

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """Grades by submission id; empty if the students' grades come from another submission."""
        found = by_submission(grades([*map(self.in_force, self.lines)], self.book, self.rubric.policy))
        return {line.id: found.get(line.id, ()) for line in self.lines}

    def attention(self, before: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission, with the decisions whose basis has changed by now."""
        stale = ((line.id, ruling) for line in self.lines for ruling in self.book.about(line) if ruling.stale)
        kept = [one for one in before if one.code != STALE]
        return kept + [Attention(id=submission, code=STALE, text=str(ruling)) for submission, ruling in stale]

    def unseen(self, attention: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission for which nobody has looked at it yet."""
        return [one for one in attention if one.code not in self.book.looked_at(one.id)]


def read_decided(
    folder: Path,
    lines: Sequence[SummaryLine],
    reports: Read,
    rubric: Rubric,
    ledger: sqlite3.Connection | None = None,
    note: bool = True,
) -> DecidedClass:
    """A class with its decisions, as the extra ``decisions`` finds them beside its reports; none where there are none.

    The lines are those of the summary. With ``note``, the ledger is brought up to date with the decisions; one that is
    open already is used.

    Raises:
        DecisionError: If the file has a mistake, is gone although the ledger knows decisions, or cannot be read here.
    """
    book = NOTHING
    if decisions := extra("decisions"):
        book = decisions.decisions_of(folder, lines, reports, rubric, ledger, note)
    elif there := [path for path in (folder / FILE, folder / FOLDER) if path.exists()]:
        raise DecisionError(f"{there[0]}: only grader/extras/decisions can read it, and that folder is missing.")
    return DecidedClass(folder, lines, book, rubric, reports)
