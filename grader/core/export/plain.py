"""Plain CSV: a row for each student with everything that is known, every task and property included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.core.results.report import Report

from .rows import Export, Request, Row
from .table import number, written

COLUMNS = (
    *("submission", "student_id", "name", "email", "status", "reason", "late", "submitted_at"),
    *("score", "max_score", "bonus", "max_bonus", "late_penalty", "grade", "remark"),
    "decided_by",
)


def export(rows: Sequence[Row], request: Request) -> Export:
    """One row for each student."""
    del request
    tasks = {part: None for row in rows for part in _parts(row.report)}  # in order, each once
    table = [(*COLUMNS, *tasks), *((*_cells(row), *_points(row, [*tasks])) for row in rows)]
    return Export({"grades.csv": written(table)}, rows)


def _cells(row: Row) -> tuple[str, ...]:
    report, origin, grade = row.report, row.report.submission.origin, row.grade
    late = origin.late if origin else None
    return (
        report.submission.id,
        row.student.id,
        row.student.name,
        row.student.email,
        report.status,
        row.blank,
        "" if late is None else str(late).lower(),
        (origin.submitted_at if origin else None) or "",
        number(report.score),
        number(report.max_score),
        number(report.bonus),
        number(report.max_bonus),
        number(grade.penalty if grade else None),
        number(grade.points if grade else None),
        row.remark,
        "; ".join(f"{own.decision.who}, {own.decision.when.date()}: {own.decision.slot}" for own in row.rulings),
    )


def _parts(report: Report) -> Mapping[str, float]:
    """The points of tasks and properties, by id; none where nothing was graded."""
    if report.status != "graded":
        return {}
    parts: dict[str, float] = {}
    for task in report.tasks:
        parts |= {task.id: task.score} | {prop.id: prop.points for prop in task.properties}
    return parts


def _points(row: Row, parts: Sequence[str]) -> list[str]:
    points = _parts(row.report)
    return [number(points.get(part)) for part in parts]
