"""A class with what people decided about it: reports and grades as they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..results.report import Report, SummaryLine, summary_line
from ..rubric import Rubric
from .book import Book, Read
from .folder import in_force
from .grades import StudentGrade, decided, grades
from .rounds import Repair, Rounds
from .words import repair_sentence


@dataclass(frozen=True)
class DecidedClass:
    """A class with what people decided.

    Attributes:
        lines: Of the summary; their points are the grader's.
        book: The decisions.
        as_graded: Gives a report as the grader wrote it.
        rounds: What second hand-ins regain.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    book: Book
    rubric: Rubric
    as_graded: Read
    rounds: Rounds

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self.book.people.lines.get(submission) or summary_line(self.as_graded(submission))

    def report(self, submission: str) -> Report:
        """A report with what a second hand-in regained, and the points that people decided on."""
        return decided(self._counted(submission), self.book, self.rubric)

    def repair(self, submission: str) -> Repair | None:
        """What a second hand-in regains; None if there is none, or if it is no better."""
        return self.rounds.repair(self.as_graded(submission))

    def repairs(self) -> dict[str, str]:
        """What second hand-ins regain, in plain English, by submission; only those that regain something."""
        found = {line.id: self.repair(line.id) for line in self.lines if self.rounds.path(line)}
        return {submission: repair_sentence(repair, "en") for submission, repair in found.items() if repair}

    def _counted(self, submission: str) -> Report:
        return self.rounds.counted(self.as_graded(submission))

    def graded_again(self, reports: Mapping[str, Report]) -> DecidedClass:
        """The same class with the same decisions, and with other reports in the place of some."""

        def read(submission: str) -> Report:
            return reports.get(submission) or self.as_graded(submission)

        lines = [summary_line(reports[own.id], own.practice) if own.id in reports else own for own in self.lines]
        return replace(self, lines=lines, as_graded=read)

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """From a submission's id to the grades of its students; empty where another submission of theirs counts."""
        found: dict[str, list[StudentGrade]] = {line.id: [] for line in self.lines}
        counted = [self.rounds.line(line, self.as_graded) for line in self.lines]
        lines = [in_force(line, self.book, self._counted, self.rubric) for line in counted]
        for own in grades(lines, self.book, self.rubric.policy):
            found[own.line.id].append(own)
        return found
