"""A class as graded, and the way from reports to grades.

The way is: report ─► viewed by the rubric ─► decided by people ─► late policy ─► grade. The first step
(``results/views.py``) is written down, in ``report.json``; the others follow whenever a grade is shown or exported.
What people decided is an extra: it turns a :class:`GradedClass` into one whose reports and grades follow decisions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol

from grader.core.extras import extra
from grader.core.intake.origin import Student, absent, clean
from grader.core.messages import UserError, say
from grader.core.results.policy import Grade, grade
from grader.core.results.report import Attention, Report, SummaryLine, summary_line
from grader.core.rubric import Policy, Rubric

from .people import Key, key, students

Read = Callable[[str], Report]
FILE = "decisions.toml"
FOLDER = "decisions"  # beside it, with a file for each of several graders


class DecisionError(UserError):
    """The decisions cannot be used."""


class Decided(Protocol):
    """A decision as those who read a grade see it."""

    @property
    def slot(self) -> str:
        """What it is about, such as a property's id."""

    @property
    def author(self) -> str:
        """Who decided, and on which day."""

    @property
    def code(self) -> str:
        """The line of code that a comment is about; empty if there is none."""

    def for_student(self, rubric: Rubric, language: str) -> str:
        """What was decided and why; not who decided."""

    def for_staff(self, rubric: Rubric, language: str) -> str:
        """The same in one line, with who decided when, and whether somebody should look at it again."""


@dataclass(frozen=True, eq=False)
class StudentGrade:
    """The grade of one student for one submission.

    Attributes:
        grade: None where there is none.
        blank: Why there is no grade; empty if there is one.
        decisions: Every decision about the student or the submission that holds.
        excused: Whether there is no grade because a person excused the student.
    """

    student: Student
    line: SummaryLine
    grade: Grade | None
    blank: str
    decisions: tuple[Decided, ...] = ()
    excused: bool = False


@dataclass(frozen=True)
class GradedClass:
    """A class without decisions.

    Attributes:
        lines: Of the summary; their points are the grader's.
        as_graded: Gives a report as the grader wrote it.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    rubric: Rubric
    as_graded: Read

    @cached_property
    def _by_id(self) -> Mapping[str, SummaryLine]:
        return {line.id: line for line in self.lines}

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self._by_id.get(submission) or summary_line(self.as_graded(submission))

    def report(self, submission: str) -> Report:
        """A report with the points that hold."""
        return self.as_graded(submission)

    def decisions(self, line: SummaryLine) -> Sequence[Decided]:
        """Every decision that holds for a submission or one of its students, each once."""
        del line
        return ()

    @property
    def unsettled(self) -> Sequence[str]:
        """The decisions that a person should look at, with the reason."""
        return ()

    def told(self, language: str) -> list[tuple[str, str]]:
        """Every decision that holds: the submission that it is about, and the words for staff."""
        held = ((line.id, one) for line in self.lines for one in self.decisions(line))
        return [(submission, one.for_staff(self.rubric, language)) for submission, one in held]

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """A grade for each student of each submission, by its id; none if another submission of the student counts.

        A student in several submissions gets no grade until a person has decided which one counts.
        """
        found = [one for line in self.lines for one in self.grades_of(line)]
        by_student: dict[Key, list[StudentGrade]] = {}
        for one in found:
            by_student.setdefault(key(one.student), []).append(one)
        counting = {student: self.counting(student, theirs) for student, theirs in by_student.items()}
        made: dict[str, list[StudentGrade]] = {line.id: [] for line in self.lines}
        for one in found:
            if one in (others := counting[key(one.student)]):
                made[one.line.id].append(_alone(one, others))
        return made

    def grades_of(self, line: SummaryLine) -> list[StudentGrade]:
        """A grade for each student of a submission, whether or not the submission counts."""
        return [student_grade(student, line, self.rubric.policy) for student in students(line.id, line.origin)]

    def counting(self, student: Key, theirs: Sequence[StudentGrade]) -> Sequence[StudentGrade]:
        """Of the submissions of one student, those that may count."""
        del student
        return [one for one in theirs if not absent(one.line.origin)] or theirs[:1]

    def attention(self, before: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission, with the decisions whose basis has changed by now."""
        return [*before]

    def unseen(self, attention: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission for which nobody has looked at it yet."""
        return [*attention]


def student_grade(
    student: Student, line: SummaryLine, policy: Policy, due: datetime | None = None, free_days: int = 0
) -> StudentGrade:
    """The grade by the policy; a person may have granted a deadline of the student's own, and free days."""
    if absent(line.origin) and line.score is None:  # the same words for each student, as exports list them by reason
        none = say("No submission.")
        zero = Grade(0, 0, 0, none) if policy.missing == "zero" else None
        return StudentGrade(student, line, zero, "" if zero else str(none))
    if line.score is None or line.bonus is None:
        return StudentGrade(student, line, None, f"{line.status}: {clean(line.reason or '')}")
    return StudentGrade(student, line, grade(policy, line.score, line.bonus, line.origin, due, free_days), "")


def _alone(one: StudentGrade, others: Sequence[StudentGrade]) -> StudentGrade:
    """The grade, if this is the only submission of the student that may count."""
    if len(others) == 1:
        return one
    ids = ", ".join(other.line.id for other in others)
    why = f"has several submissions ({ids}); choose one with `grader decide --attempt`"
    return replace(one, grade=None, blank=why)


def decided(known: GradedClass, ledger: sqlite3.Connection | None = None, note: bool = True) -> GradedClass:
    """The class with the decisions that the extra ``decisions`` finds beside its reports.

    With ``note``, the ledger is brought up to date with the decisions; one that is open already is used.

    Raises:
        DecisionError: If the file has a mistake, is gone although the ledger knows decisions, or cannot be read here.
    """
    if decisions := extra("decisions"):
        known = decisions.decided(known, ledger, note)
    elif there := [path for path in (known.folder / FILE, known.folder / FOLDER) if path.exists()]:
        raise DecisionError(f"{there[0]}: only grader/extras/decisions can read it, and that folder is missing.")
    return known
