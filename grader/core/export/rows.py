"""One row for each student: the report, and the grade or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from grader.core.grades.graded import GradedClass, StudentGrade
from grader.core.intake.origin import Origin, absent
from grader.core.messages import UserError
from grader.core.results.policy import Grade
from grader.core.results.report import Report
from grader.core.results.views import in_words
from grader.core.rubric import Rubric


class ExportError(UserError):
    """No file can be written."""


@dataclass(frozen=True, kw_only=True)
class Row(StudentGrade):
    """The grade of a student with the report of the submission that counts.

    Attributes:
        refused: Why the platform's file has no place for the grade; empty if it has one.
        there: The number in the student's cell of the downloaded file; None if there is none.
        comment: Feedback to the student, for files that have a column for it.
        remark: How the late policy and human decisions changed the grade, for the student to read.
    """

    report: Report
    refused: str = ""
    there: float | None = None
    comment: str = ""
    remark: str = ""

    @property
    def cell(self) -> Grade | None:
        """The grade that is written to the platform's file; None if the cell stays blank."""
        return None if self.refused else self.grade

    @property
    def absent(self) -> bool:
        """Whether the student handed in nothing."""
        return absent(self.origin)

    @property
    def origin(self) -> Origin | None:
        """What the platform says of the submission."""
        return self.line.origin

    @property
    def source(self) -> str:
        """The platform that the student's id comes from; empty for folders and rosters."""
        return self.origin.source if self.origin else ""


@dataclass(frozen=True)
class Request:
    """What an exporter may ask for: the bytes of a downloaded file, and the platform's number of the assignment."""

    rubric: Rubric
    template: bytes | None = None
    assignment_id: str = ""


@dataclass(frozen=True)
class Export:
    """What an exporter made.

    Attributes:
        files: Contents by name.
        remarks: What a person must know before the upload, a line each.
        rows: The students in the files, each with why the file refused the grade, and what was in the cell before.
    """

    files: Mapping[str, str]
    rows: Sequence[Row]
    remarks: Sequence[str] = ()


Exporter = Callable[[Sequence[Row], Request], Export]


class Format(NamedTuple):
    """The function that makes a file of grades, and the command by which grades get to the platform of that name.

    In the command, words in capitals stand for what was downloaded from the platform.
    """

    make: Exporter
    way: str = "export {out} --to csv"


def rows(known: GradedClass, comment: Callable[[Report], str] | None = None, language: str = "en") -> list[Row]:
    """A row for each student of each submission that counts; ``comment`` builds the comment on a grade."""

    def remark(graded: StudentGrade) -> str:
        policy = in_words(graded.grade.remark, None, language) if graded.grade else ""
        people = (" ".join(one.for_student(known.rubric, language).split()) for one in graded.decisions)
        return " ".join(filter(None, [policy, *people]))

    def row(graded: StudentGrade) -> Row:
        one = report(graded.line.id)
        return Row(**vars(graded), report=one, comment=comment(one) if comment else "", remark=remark(graded))

    report = cache(known.report)
    return [row(graded) for each in known.grades.values() for graded in each]


def grouped(what: str, told: Iterable[tuple[str, str]]) -> list[str]:
    """Two lines for each reason, the most frequent one first: how many it concerns, what happens, and who they are."""
    found: dict[str, list[str]] = {}
    for why, who in told:
        found.setdefault(why, []).append(who)
    alike = sorted(found.items(), key=lambda one: -len(one[1]))
    return [line for why, names in alike for line in (f"{len(names)} {what}: {why}", f"  {'; '.join(names)}")]


def refusals(rows: Iterable[Row]) -> list[str]:
    """Why grades would not reach the platform, and whose grades they are."""
    lost = ((row.refused, row.student, row.grade) for row in rows if row.refused and row.grade)
    return grouped("would be blank", ((why, f"{student} ({grade.points:g})") for why, student, grade in lost))


def blanks(rows: Iterable[Row]) -> list[str]:
    """Who gets no grade, by reason; the reason of an excused student is what people decided."""
    told = ((row.remark if row.excused else row.blank, row) for row in rows if row.blank)
    return grouped("left blank", ((why, f"{row.student} ({row.report.submission.id})") for why, row in told))


def remarks(rows: Iterable[Row]) -> list[str]:
    """Every grade that the policy or a person changed, with the reason, to be read before the upload."""
    changed = ((row, row.cell) for row in rows if row.cell and row.remark)
    earned = ((row, cell, f" (earned {cell.raw:g})" * (cell.points != cell.raw)) for row, cell in changed)
    return grouped("changed", ((row.remark, f"{row.student}: {cell.points:g}{more}") for row, cell, more in earned))
