"""One row for each student: whose report it is, and the grade, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..assignment import Policy
from ..intake.origin import Origin, Student, clean
from ..results.policy import Grade, grade
from ..results.report import Report


class ExportError(Exception):
    """No file can be written; one line that says why, and what to do."""


@dataclass(frozen=True)
class Row:
    """A student with a report.

    Attributes:
        grade: None where the cell stays blank.
        blank: Why it does; empty if there is a grade.
    """

    report: Report
    student: Student
    grade: Grade | None
    blank: str = ""

    @property
    def source(self) -> str:
        """The platform that the ids come from; empty for folders and rosters."""
        origin = self.report.submission.origin
        return origin.source if origin else ""


@dataclass(frozen=True)
class Request:
    """What an exporter may ask for.

    Attributes:
        title: The assignment's.
        due: The deadline, ISO 8601, or empty.
        template: The bytes of a file downloaded from the platform.
        assignment_id: The platform's own.
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
        rows: Whose grades are in it.
    """

    files: Mapping[str, str]
    remarks: Sequence[str] = field(default_factory=list)
    rows: Sequence[Row] = ()


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
    """Whose a submission is; where nobody is known, it stands for its student itself."""
    return (origin.students if origin else ()) or (Student(id=submission),)


def key(student: Student) -> tuple[str, str]:
    """The same for the same student, and for no other."""
    return (student.id, "") if student.id else (student.email, student.name)


def _undecided(row: Row, found: Iterable[Row]) -> Row:
    ids = ", ".join(other.report.submission.id for other in found if key(other.student) == key(row.student))
    return Row(row.report, row.student, None, f"has several submissions ({ids}); grade the one that counts alone")


def blanks(rows: Iterable[Row]) -> list[str]:
    """A line for each student without a grade."""
    return [f"{row.student} ({row.report.submission.id}): left blank; {row.blank}" for row in rows if row.blank]


def remarks(rows: Iterable[Row]) -> list[str]:
    """A line for each grade that the policy changed, for formats that have no place for it."""
    return [
        f"{row.student}: {row.grade.points:g} of {row.grade.raw:g}. {row.grade.remark}"
        for row in rows
        if row.grade and row.grade.remark
    ]
