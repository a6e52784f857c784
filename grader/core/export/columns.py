"""Tables with a row for each student: plain CSV, the columns of nbgrader's own export, and those of Gradescope's.

Gradescope takes results from its own autograder only, and no file of grades; a gradebook takes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from grader.core.results.report import Report

from .rows import Export, Request, Row, remarks
from .table import number, written

Cell = str | float | bool | None
Columns = Mapping[str, Callable[[Row, Request], Cell]]  # by heading

PLAIN: Columns = {
    "submission": lambda row, _: row.report.submission.id,
    "student_id": lambda row, _: row.student.id,
    "name": lambda row, _: row.student.name,
    "email": lambda row, _: row.student.email,
    "status": lambda row, _: row.report.status,
    "reason": lambda row, _: row.blank,
    "late": lambda row, _: getattr(row.origin, "late", None),
    "submitted_at": lambda row, _: getattr(row.origin, "submitted_at", None),
    "score": lambda row, _: row.report.score,
    "max_score": lambda row, _: row.report.max_score,
    "bonus": lambda row, _: row.report.bonus,
    "max_bonus": lambda row, _: row.report.max_bonus,
    "late_penalty": lambda row, _: getattr(row.grade, "penalty", None),
    "grade": lambda row, _: getattr(row.grade, "points", None),
    "remark": lambda row, _: row.remark,
    "decided_by": lambda row, _: "; ".join(
        f"{own.decision.who}, {own.decision.when.date()}: {own.decision.slot}" for own in row.rulings
    ),
}
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
GRADESCOPE: Columns = {
    "Name": PLAIN["name"],
    "SID": PLAIN["student_id"],
    "Email": PLAIN["email"],
    "Total Score": PLAIN["grade"],
    "Max Points": PLAIN["max_score"],
    "Submission ID": lambda row, _: row.report.submission.id.removeprefix("submission_"),
    "Submission Time": PLAIN["submitted_at"],
}
NO_UPLOAD = (
    "Gradescope does not import grades from a file: this table is for a gradebook. To get grades into Gradescope, "
    "upload the autograder that `grader gradescope OUT` writes."
)


def plain(rows: Sequence[Row], request: Request) -> Export:
    """Everything that is known, with a column for the points of each task and property."""
    parts = {name: None for row in rows for name in _parts(row.report)}  # in order, each once
    points = {name: partial(_part, name) for name in parts}
    return Export({"grades.csv": _table({**PLAIN, **points}, rows, request)}, rows)


def nbgrader(rows: Sequence[Row], request: Request) -> Export:
    """The columns of nbgrader's own export, for tools that read them."""
    return Export({"nbgrader.csv": _table(NBGRADER, rows, request)}, rows)


def gradescope(rows: Sequence[Row], request: Request) -> Export:
    """The headings of the table that Gradescope gives for download."""
    return Export({"gradescope.csv": _table(GRADESCOPE, rows, request)}, rows, [NO_UPLOAD, *remarks(rows)])


def _table(columns: Columns, rows: Sequence[Row], request: Request) -> str:
    return written([[*columns], *([_text(cell(row, request)) for cell in columns.values()] for row in rows)])


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else number(cell)


def _part(name: str, row: Row, _: Request) -> Cell:
    return _parts(row.report).get(name)


def _parts(report: Report) -> Mapping[str, float]:
    """The points of tasks and properties, by id; none where nothing was graded."""
    parts: dict[str, float] = {}
    for task in report.tasks if report.status == "graded" else ():
        parts |= {task.id: task.score} | {prop.id: prop.points for prop in task.properties}
    return parts


def names(name: str) -> tuple[str, str]:
    """Last and first name, divided at the comma, or else before the last word; a single word is a last name."""
    last, comma, first = name.partition(",")
    if comma:
        return last.strip(), first.strip()
    *given, last = name.split() or [""]
    return last, " ".join(given)
