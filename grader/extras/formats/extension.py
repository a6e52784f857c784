"""The columns of nbgrader's own export, and JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.core.export.rows import Export, Format, Request, Row
from grader.core.export.table import PLAIN, Columns, table
from grader.followup.table import in_file as in_file

from . import junit

NBGRADER: Columns = {
    "assignment": lambda _, request: request.rubric.id,
    "duedate": lambda _, request: due.isoformat() if (due := request.rubric.policy.due) else None,
    "timestamp": PLAIN["submitted_at"],
    "student_id": lambda row, _: row.student.id or row.report.submission.id,
    "last_name": lambda row, _: names(row.student.name)[0],
    "first_name": lambda row, _: names(row.student.name)[1],
    "email": PLAIN["email"],
    "raw_score": lambda row, _: getattr(row.grade, "raw", None),
    "late_submission_penalty": PLAIN["late_penalty"],
    "score": PLAIN["grade"],
    "max_score": PLAIN["max_score"],
}


def nbgrader(rows: Sequence[Row], request: Request) -> Export:
    """The columns of nbgrader's own export, for tools that read them."""
    return Export({"nbgrader.csv": table(NBGRADER, rows, request)}, rows)


def names(name: str) -> tuple[str, str]:
    """Last and first name, divided at the comma, or else before the last word; a single word is a last name."""
    last, comma, first = name.partition(",")
    if comma:
        return last.strip(), first.strip()
    *given, last = name.split() or [""]
    return last, " ".join(given)


FORMATS: Mapping[str, Format] = {
    "nbgrader": Format(nbgrader),
    "junit": Format(junit.export),
}
