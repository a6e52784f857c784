"""The grading worksheet that was downloaded from Moodle, with grades and comments filled in.

Moodle finds participants by ``Identifier``, and ignores rows whose ``Last modified (grade)`` is older than the grade on
the site. It refuses a grade above ``Maximum Grade``. Headings are in the site's language, the order is always the same:
``Identifier`` first, ``Maximum Grade`` after ``Grade``, and ``Feedback comments``, where the assignment has them, after
``Last modified (grade)``. Source: ``mod/assign/gradingtable.php`` of https://github.com/moodle/moodle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from .rows import Export, Request, Row, remarks
from .table import inert, number, place, read_number, read_template

IDENTIFIER = "identifier"  # the first column, whatever it is called
WHAT = "the grading worksheet of the assignment"
GRADE: tuple[str, ...] = ("Grade", "成绩", "分数", "成績", "Bewertung", "Note", "Calificación", "Cijfer", "Beoordeling")
GRADE += ("Nota", "Valutazione", "Оценка", "評点")
MODIFIED: tuple[str, ...] = ("Last modified (grade)", "最后修改（成绩）", "最后修改（评分）", "最后修改（教师）")
MODIFIED += ("最終更新日時 (評定)",)
MODIFIED += ("Zuletzt geändert (Bewertung)", "Última modificación (calificación)", "Dernière modification (note)")
MODIFIED += ("Laatst gewijzigd (beoordeling)", "Последнее изменение (оценка)")
ABSENT = "not in the worksheet. Download it again, or add them to the course"


def export(rows: Sequence[Row], request: Request) -> Export:
    """The worksheet with grades and comments.

    Raises:
        ExportError: If there is no worksheet, or it lacks a column that Moodle asks for.
    """
    template = read_template(request.template, WHAT)
    target = template.column(GRADE, WHAT)
    comments = template.column(MODIFIED, WHAT) + 1
    people = template.students(IDENTIFIER)
    filled = [[row[0], inert(row[1]), *row[2:]] for row in template.rows]
    told = []
    for row in rows:
        line = place(row, people, "moodle")
        if line is None:
            told.append(replace(row, refused=ABSENT))
            continue
        cells = filled[line]
        most = cells[target + 1] if target + 1 < len(cells) else ""
        own = replace(row, there=read_number(cells[target]), refused=_refused(row, most))
        told.append(own)
        if own.cell:
            points = number(own.cell.points)
            cells[target] = points.replace(".", ",") if "," in most else points
        if comments < len(cells):
            remark = own.remark if own.cell or own.excused else ""
            added = [escape(own.comment, quote=False), remark]  # the column holds HTML
            new = [text for text in added if text and text not in cells[comments]]
            cells[comments] = inert(" ".join(filter(None, [cells[comments], *new]))) if new else cells[comments]
    return Export({"moodle.csv": template.text(filled)}, told, remarks(told))


def _refused(row: Row, most: str) -> str:
    """Why Moodle would not take a grade."""
    limit = read_number(most)
    if limit is None or row.grade is None or row.grade.points <= limit:
        return ""
    what = "score plus bonus" if row.report.bonus else "the score"
    return f"{what} exceeds the worksheet's maximum {limit:g}; set bonus_cap or raise the maximum"
