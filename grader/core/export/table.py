"""CSV, quoted properly, and with no cell that a spreadsheet would run; the plain table has a row for each student."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from grader.core.results.report import Report

from .rows import Export, Request, Row

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def written(rows: Iterable[Sequence[str]]) -> str:
    """A table of our own as CSV text; no cell in it is a formula."""
    return joined(([inert(str(cell)) for cell in row] for row in rows), ",")


def joined(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """Rows as CSV text, with the line ends of RFC 4180."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    return buffer.getvalue()


def inert(text: str) -> str:
    """The text, escaped if a spreadsheet would read it as a formula; signs may be full-width, as in Chinese."""
    return f"'{text}" if unicodedata.normalize("NFKC", text[:1]).startswith(FORMULA) else text


def number(value: float | None) -> str:
    """A number without needless zeros; empty for None."""
    return "" if value is None else f"{round(value, 2):g}"


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
    "decided_by": lambda row, _: "; ".join(f"{one.author}: {one.slot}" for one in row.decisions),
}


def plain(rows: Sequence[Row], request: Request) -> Export:
    """Everything that is known, with a column for the points of each task and property."""
    parts = {name: None for row in rows for name in _parts(row.report)}  # in order, each once
    points = {name: partial(_part, name) for name in parts}
    return Export({"grades.csv": table({**PLAIN, **points}, rows, request)}, rows)


def table(columns: Columns, rows: Sequence[Row], request: Request) -> str:
    """The cells of all rows, as CSV."""
    return written([[*columns], *([_text(cell(row, request)) for cell in columns.values()] for row in rows)])


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else number(cell)


def _part(name: str, row: Row, _: Request) -> Cell:
    return _parts(row.report).get(name)


def _parts(report: Report) -> Mapping[str, float]:
    """The points of tasks and properties, by id; none if nothing was graded."""
    parts: dict[str, float] = {}
    for task in report.tasks if report.status == "graded" else ():
        parts |= {task.id: task.score} | {prop.id: prop.points for prop in task.properties}
    return parts
