"""One row for each student: whose report it is, and the grade, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..intake.origin import Origin, Student, clean
from ..results.policy import Grade, grade
from ..results.report import Report
from ..rubric import Policy


class ExportError(Exception):
    """No file can be written; the message is one line that says why, and what to do."""


@dataclass(frozen=True)
class Row:
    """A student, the report of the student's submission, and the grade.

    Attributes:
        grade: The grade by the policy; None if there is none.
        blank: Why there is no grade; empty if there is one.
        refused: Why the platform's file has no place for the grade; empty if it has one.
        there: The number in the student's cell of the downloaded file; None if there is none.
        comment: What the student is told beside the grade, where the file has a place for it.
    """

    report: Report
    student: Student
    grade: Grade | None
    blank: str = ""
    refused: str = ""
    there: float | None = None
    comment: str = ""

    @property
    def cell(self) -> Grade | None:
        """The grade that is written to the platform's file; None if the cell stays blank."""
        return None if self.refused else self.grade

    @property
    def source(self) -> str:
        """The platform that the student's id comes from; empty for folders and rosters."""
        origin = self.report.submission.origin
        return origin.source if origin else ""


@dataclass(frozen=True)
class Request:
    """What an exporter may ask for.

    Attributes:
        title: The assignment's title.
        due: The deadline, ISO 8601, or empty.
        template: The bytes of a file downloaded from the platform.
        assignment_id: The number that the platform gives the assignment.
    """

    assignment: str
    title: str
    due: str = ""
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


def rows(reports: Iterable[Report], policy: Policy) -> list[Row]:
    """A row for each student of each report; a student in two reports gets no grade until a person has chosen."""
    found = [row for report in reports for row in _rows(report, policy)]
    count = Counter(key(row.student) for row in found)
    return [_undecided(row, found) if count[key(row.student)] > 1 else row for row in found]


def _rows(report: Report, policy: Policy) -> Iterable[Row]:
    submission = report.submission
    own, blank = None, ""
    if report.score is not None and report.bonus is not None:
        own = grade(policy, report.score, report.bonus, submission.origin)
    else:
        blank = f"{report.status}: {clean(report.reason or '')}"
    for student in students(submission.id, submission.origin):
        yield Row(report, student, own, blank)


def students(submission: str, origin: Origin | None) -> tuple[Student, ...]:
    """The students whose submission it is; where none is known, its id serves as the student's."""
    return (origin.students if origin else ()) or (Student(id=submission),)


def key(student: Student) -> tuple[str, str]:
    """What identifies a student: the same for the same student, and for no other."""
    return (student.id, "") if student.id else (student.email, student.name)


def _undecided(row: Row, found: Iterable[Row]) -> Row:
    ids = ", ".join(other.report.submission.id for other in found if key(other.student) == key(row.student))
    return Row(row.report, row.student, None, f"has several submissions ({ids}); grade the one that counts alone")


def refusals(rows: Iterable[Row]) -> list[str]:
    """A line for each reason why grades would not reach the platform, and below it whose grades they are."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.refused and row.grade:
            found.setdefault(row.refused, []).append(f"{row.student} ({row.grade.points:g})")
    return [
        line
        for why, names in found.items()
        for line in (f"{len(names)} would be blank: {why}", f"  {', '.join(names)}")
    ]


def blanks(rows: Iterable[Row]) -> list[str]:
    """A line for each student without a grade."""
    return [f"{row.student} ({row.report.submission.id}): left blank; {row.blank}" for row in rows if row.blank]


def remarks(rows: Iterable[Row]) -> list[str]:
    """A line for each grade that the policy changed, for formats that have no place for it."""
    return [
        f"{row.student}: {row.cell.points:g} of {row.cell.raw:g}. {row.cell.remark}"
        for row in rows
        if row.cell and row.cell.remark
    ]
