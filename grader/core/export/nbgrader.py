"""A CSV with the columns of nbgrader's own export, for tools that read them."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import Export, Request, Row
from .table import number, written

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def export(rows: Sequence[Row], request: Request) -> Export:
    """One row for each student; numbers are blank where there is no grade."""
    return Export({"nbgrader.csv": written([COLUMNS, *(_cells(row, request) for row in rows)])}, rows)


def _cells(row: Row, request: Request) -> tuple[str, ...]:
    origin, grade = row.report.submission.origin, row.grade
    last, first = names(row.student.name)
    return (
        request.assignment,
        request.due,
        (origin.submitted_at if origin else None) or "",
        row.student.id or row.report.submission.id,
        last,
        first,
        row.student.email,
        number(grade.raw if grade else None),
        number(grade.penalty if grade else None),
        number(grade.points if grade else None),
        number(row.report.max_score),
    )


def names(name: str) -> tuple[str, str]:
    """Last and first name, divided at the comma, or else before the last word; a single word is a last name."""
    last, comma, first = name.partition(",")
    if comma:
        return last.strip(), first.strip()
    *given, last = name.split() or [""]
    return last, " ".join(given)
