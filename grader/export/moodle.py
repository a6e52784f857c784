"""The grading worksheet that was downloaded from Moodle, with grades and comments filled in.

Moodle finds participants by ``Identifier``, and ignores rows whose ``Last modified (grade)`` is older than the grade on
the site. Headings are in the site's language; ``Identifier`` is always the first column. Moodle refuses a grade above
``Maximum Grade``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..intake.origin import Student
from ..intake.roster import match, student_of
from .rows import Export, Request, Row, remarks
from .table import Template, inert, number, read_template

WHAT = "the grading worksheet of the assignment"
GRADE = ("Grade", "成绩", "分数", "Bewertung", "Note", "Calificación")
MAXIMUM = ("Maximum Grade", "最高成绩", "最高分", "Maximum grade")
MODIFIED = ("Last modified (grade)", "最后修改（成绩）", "最后修改(成绩)", "最后修改 (成绩)")
COMMENTS = ("Feedback comments", "反馈评论", "评语反馈", "反馈意见")


def export(rows: Sequence[Row], request: Request) -> Export:
    """The worksheet with grades and comments.

    Raises:
        ExportError: If there is no worksheet, or it lacks a column that Moodle asks for.
    """
    template = read_template(request.template, WHAT)
    target = template.column(GRADE, WHAT)
    template.column(MODIFIED, WHAT)
    maximum, comments = _optional(template, MAXIMUM), _optional(template, COMMENTS)
    people = _people(template)
    filled = [[row[0], inert(row[1]), *row[2:]] for row in template.rows]
    lines = []
    for row in rows:
        student = row.student if row.source == "moodle" else row.student.model_copy(update={"id": ""})
        found = match(student, [*people])
        if found is None:
            lines.append(f"{row.student}: not in the worksheet that was given")
            continue
        cells = filled[people[found]]
        most = cells[maximum] if maximum is not None else ""
        if row.grade and _exceeds(row.grade.points, most):
            lines.append(
                f"{row.student}: left blank; {row.grade.points:g} is more than the maximum of {most} in Moodle"
            )
        elif row.grade:
            points = number(row.grade.points)
            cells[target] = points.replace(".", ",") if "," in most else points
            if comments is not None and row.grade.remark:
                cells[comments] = " ".join(filter(None, [cells[comments], row.grade.remark]))
    return Export({"moodle.csv": template.text(filled)}, lines if comments is not None else [*lines, *remarks(rows)])


def _people(template: Template) -> dict[Student, int]:
    """Every student in the worksheet, with the number of the row."""
    header = ("identifier", *(cell.strip().casefold() for cell in template.header[1:]))
    return {student_of(dict(zip(header, row, strict=True))): number for number, row in enumerate(template.rows)}


def _optional(template: Template, names: Sequence[str]) -> int | None:
    return next((number for number, cell in enumerate(template.header) if cell.strip() in names), None)


def _exceeds(points: float, most: str) -> bool:
    try:
        return points > float(most.replace(",", "."))
    except ValueError:  # the worksheet gives no maximum
        return False
