"""The CSV that Canvas imports: a gradebook with one assignment, or a downloaded gradebook with that column filled in.

Canvas finds students by ``ID`` and the assignment by the number behind its title; an unknown title would create a new
one. The file has no place for remarks, and students who are excused in the gradebook stay excused.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..intake.origin import Student
from ..intake.roster import match
from .rows import Export, ExportError, Request, Row, remarks
from .table import Template, inert, number, read_template, written

COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS_POSSIBLE = "Points Possible"
EXCUSED = "EX"
WHAT = "the gradebook"


def export(rows: Sequence[Row], request: Request) -> Export:
    """Fill in the gradebook that was downloaded from Canvas, or make one without it.

    Raises:
        ExportError: If Canvas would refuse the file, or take the column for a new assignment.
    """
    if request.template is not None:
        return _filled(rows, read_template(request.template, WHAT), request.assignment_id)
    if not request.assignment_id.isdecimal():
        raise ExportError(
            f"--assignment-id {request.assignment_id!r}: not a number. It is the last one in the assignment's address "
            "in Canvas; without it, Canvas would create a new assignment."
        )
    known = [row for row in rows if row.student.id.isdecimal()]
    possible = max((row.report.max_score for row in rows), default=0)
    table = [
        (*COLUMNS, f"{request.title} ({request.assignment_id})"),
        (POINTS_POSSIBLE, "", "", "", "", number(possible)),
        *((inert(row.student.name), row.student.id, "", "", "", _points(row)) for row in known),
    ]
    unknown = [f"{row.student}: left out, as no Canvas user id is known" for row in rows if row not in known]
    return Export({"canvas.csv": written(table)}, [*unknown, *remarks(known)])


def _filled(rows: Sequence[Row], template: Template, assignment_id: str) -> Export:
    """The gradebook with the column of the assignment filled in."""
    by_name = template.column(["Student"], WHAT)
    by_id = template.column(["ID"], WHAT)
    if "SIS User ID" in template.header:
        template.column(["SIS Login ID"], WHAT)  # without it, Canvas refuses the file
    target = _target(template, assignment_id)
    people = {
        Student(id=row[by_id].strip(), name=row[by_name]): number
        for number, row in enumerate(template.rows)
        if row[by_id].strip() and POINTS_POSSIBLE.casefold() not in row[by_name].casefold()
    }
    filled = [[inert(cell) if number == by_name else cell for number, cell in enumerate(row)] for row in template.rows]
    missing = []
    for row in rows:
        student = row.student if row.source == "canvas" else row.student.model_copy(update={"id": ""})
        found = match(student, [*people])
        if found is None:
            missing.append(f"{row.student}: not in the gradebook that was given")
        elif row.grade and filled[people[found]][target].strip().upper() != EXCUSED:
            filled[people[found]][target] = _points(row)
    return Export({"canvas.csv": template.text(filled)}, [*missing, *remarks(rows)])


def _target(template: Template, assignment_id: str) -> int:
    """The column of the assignment, found by the number in parentheses behind its title."""
    ours = [
        number
        for number, cell in enumerate(template.header)
        if assignment_id and cell.strip().endswith(f"({assignment_id})")
    ]
    if len(ours) != 1:
        raise ExportError(
            f"--assignment-id {assignment_id!r}: {len(ours)} columns of --template end in ({assignment_id}). "
            "It is the last number in the assignment's address in Canvas."
        )
    return ours[0]


def _points(row: Row) -> str:
    return number(row.grade.points if row.grade else None)
