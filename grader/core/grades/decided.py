"""A class with what people decided about it: reports and grades as they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from grader.core.results.report import Report, SummaryLine, summary_line
from grader.core.rubric import Rubric

from .book import Book, Read
from .grades import StudentGrade, by_submission, decided, grades
from .in_force import about, in_force
from .words import for_staff


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

    def graded_again(self, reports: Mapping[str, Report]) -> DecidedClass:
        """The same class with the same decisions, and with other reports in the place of some."""

        def read(submission: str) -> Report:
            return reports.get(submission) or self.as_graded(submission)

        lines = [summary_line(reports[own.id], own.practice) if own.id in reports else own for own in self.lines]
        return replace(self, lines=lines, as_graded=read)

    def told(self, language: str) -> list[tuple[str, str]]:
        """Every decision that holds: the submission that it is about, and the words for staff."""
        held = ((line.id, ruling) for line in self.lines for ruling in about(line, self.book))
        return [(submission, for_staff(ruling, self.rubric, language)) for submission, ruling in held]

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """Grades by submission id; empty if the students' grades come from another submission."""
        lines = [in_force(line, self.book, self.as_graded, self.rubric) for line in self.lines]
        found = by_submission(grades(lines, self.book, self.rubric.policy))
        return {line.id: found.get(line.id, ()) for line in lines}
