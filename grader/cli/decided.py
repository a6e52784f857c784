"""How commands read a class: reports and summary as the grader wrote them, and what people decided about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..decisions.book import Book
from ..decisions.folder import decisions_of, in_force, rewrite_summary
from ..decisions.grades import StudentGrade, decided, grades
from ..decisions.model import DecisionError
from ..decisions.rounds import Repair, Rounds
from ..decisions.words import repair_sentence
from ..results.report import Report, SummaryLine, summary_line
from ..rubric import Rubric
from .terminal import ERR, fail, read_class, read_written


@dataclass(frozen=True)
class DecidedClass:
    """A class with what people decided.

    Attributes:
        lines: Of the summary; their points are the grader's.
        book: The decisions.
        rounds: What second hand-ins regain.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    book: Book
    rubric: Rubric
    rounds: Rounds

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self.book.people.lines.get(submission) or summary_line(as_graded(self.folder, submission))

    def report(self, submission: str) -> Report:
        """A report with what a second hand-in regained, and the points that people decided on."""
        return decided(self._counted(submission), self.book, self.rubric)

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """From a submission's id to the grades of its students; empty where another submission of theirs counts."""
        found: dict[str, list[StudentGrade]] = {line.id: [] for line in self.lines}
        counted = [self.rounds.line(line, self.as_graded) for line in self.lines]
        lines = [in_force(line, self.book, self._counted, self.rubric) for line in counted]
        for own in grades(lines, self.book, self.rubric.policy):
            found[own.line.id].append(own)
        return found

    def as_graded(self, submission: str) -> Report:
        """A report as the grader wrote it."""
        return as_graded(self.folder, submission)

    def repair(self, submission: str) -> Repair | None:
        """What a second hand-in regains; None if there is none, or if it is no better."""
        return self.rounds.repair(self.as_graded(submission))

    def repairs(self) -> dict[str, str]:
        """The same in plain English, by submission, for those that regain something."""
        found = {line.id: self.repair(line.id) for line in self.lines if self.rounds.path(line)}
        return {submission: repair_sentence(repair, "en") for submission, repair in found.items() if repair}

    def _counted(self, submission: str) -> Report:
        return self.rounds.counted(self.as_graded(submission))


def as_graded(folder: Path, submission: str) -> Report:
    """A report as the grader wrote it."""
    return read_written(folder / submission / "report.json", Report)


def read_decided(
    folder: Path,
    rubric: Rubric,
    lines: Sequence[SummaryLine] | None = None,
    ledger: sqlite3.Connection | None = None,
    quiet: bool = False,
) -> DecidedClass:
    """Read a class and the decisions about it, and say which of them a person should look at.

    Args:
        folder: The folder that grade wrote to.
        rubric: Has the policy.
        lines: Of its summary; None to read them.
        ledger: The opened ledger, where the command has opened it.
        quiet: Whether to say nothing.
    """
    lines = read_class(folder) if lines is None else lines

    def reports(submission: str) -> Report:
        return as_graded(folder, submission)

    try:
        rounds = Rounds(folder, rubric, read_written)
        book = decisions_of(folder, lines, reports, rubric, ledger)
        rewrite_summary(folder, book, lambda submission: rounds.counted(reports(submission)), rubric)
    except DecisionError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}.")
    for ruling in () if quiet else book.unsettled:
        ERR.print(str(ruling), markup=False, highlight=False, soft_wrap=True)
    return DecidedClass(folder, lines, book, rubric, rounds)
