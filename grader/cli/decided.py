"""How commands read a class: reports and summary as the grader wrote them, and what people decided about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..decisions.book import Book
from ..decisions.folder import decisions_of, in_force, rewrite_summary
from ..decisions.grades import StudentGrade, decided, grades
from ..decisions.model import DecisionError
from ..results.report import Report, SummaryLine, summary_line
from ..rubric import Rubric
from .terminal import fail, read_class, read_written, warn


@dataclass(frozen=True)
class DecidedClass:
    """A class with what people decided.

    Attributes:
        lines: Of the summary; their points are the grader's.
        book: The decisions.
        again: Reports of another grading, which stand in the place of those in the folder.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    book: Book
    rubric: Rubric
    again: Mapping[str, Report] = field(default_factory=dict)

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self.book.people.lines.get(submission) or summary_line(as_graded(self.folder, submission))

    def report(self, submission: str) -> Report:
        """A report with the points that people decided on."""
        return decided(self.as_graded(submission), self.book, self.rubric)

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """From a submission's id to the grades of its students; empty where another submission of theirs counts."""
        found: dict[str, list[StudentGrade]] = {line.id: [] for line in self.lines}
        lines = [in_force(line, self.book, self.as_graded, self.rubric) for line in self.lines]
        for own in grades(lines, self.book, self.rubric.policy):
            found[own.line.id].append(own)
        return found

    def as_graded(self, submission: str) -> Report:
        """A report as the grader wrote it."""
        return self.again.get(submission) or as_graded(self.folder, submission)

    def graded_again(self, reports: Mapping[str, Report]) -> DecidedClass:
        """The same class with the same decisions, and with other reports in the place of some."""
        lines = [summary_line(reports[own.id], own.practice) if own.id in reports else own for own in self.lines]
        return replace(self, lines=lines, again=reports)


def as_graded(folder: Path, submission: str) -> Report:
    """A report as the grader wrote it."""
    return read_written(folder / submission / "report.json", Report)


def read_decided(
    folder: Path,
    rubric: Rubric,
    lines: Sequence[SummaryLine] | None = None,
    ledger: sqlite3.Connection | None = None,
    quiet: bool = False,
    note: bool = True,
) -> DecidedClass:
    """Read a class and the decisions about it, and say which of them a person should look at.

    Args:
        folder: The folder that grade wrote to.
        rubric: Has the policy.
        lines: Of its summary; None to read them.
        ledger: The opened ledger, where the command has opened it.
        quiet: Whether to say nothing.
        note: Whether to bring ledger and summary up to date with the decisions.
    """
    lines = read_class(folder) if lines is None else lines

    def reports(submission: str) -> Report:
        return as_graded(folder, submission)

    try:
        book = decisions_of(folder, lines, reports, rubric, ledger, note)
        if note:
            rewrite_summary(folder, book, reports, rubric)
    except DecisionError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}.")
    for ruling in () if quiet else book.unsettled:
        warn(str(ruling))
    return DecidedClass(folder, lines, book, rubric)
