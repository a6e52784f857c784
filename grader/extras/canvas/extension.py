"""Canvas: whose the files of its export are, and the CSV of grades that it imports.

The CSV has one assignment's column, beside the columns of a gradebook that identify students. Canvas finds students by
``ID`` and the assignment by the number behind its title; an unknown title would create a new assignment. Any other cell
in the file would replace what Canvas has by now, so other assignments and students without a grade are left out, unless
they are excused. The file has no place for remarks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from grader.core.export.rows import Export, ExportError, Format, Request, Row, remarks
from grader.core.export.table import inert, number, written
from grader.core.intake.discover import Listing
from grader.core.intake.layout import copy_number, handed_in_again, without_copy_suffix
from grader.core.intake.origin import Found, Origin, Part, Student, clean
from grader.followup.table import Template, place, read_number, read_template

_WHAT = r"(?:(?P<attachment>[0-9]{1,20})_(?P<file>[^/]+)|(?P<page>text|link)\.html)"
_NAMED = re.compile(rf"(?P<name>.*?)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_WHAT}", re.DOTALL)
_ANONYMOUS = re.compile(rf"(?P<late>LATE_)?(?P<name>anon)_(?!LATE_)(?P<user>[^_\W]+)_{_WHAT}", re.DOTALL)


def submissions(listing: Listing) -> list[Found]:
    """Canvas, "Download submissions": one flat folder or zip; a file's name says whose it is.

    ``{name}[_LATE]_{user id}_{attachment id}_{file}``, the name sortable and in lower case; texts and links that were
    entered online end in ``{user id}_text.html`` and ``_link.html``. Where grading is anonymous,
    ``[LATE_]anon_{id}_{attachment id}_{file}``.
    """
    by_user: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ANONYMOUS.fullmatch(name) or _NAMED.fullmatch(name):
            by_user.setdefault(match["user"], []).append(match)
    return [_of_user(user, matches) for user, matches in by_user.items()]


def _of_user(user: str, matches: Sequence[re.Match[str]]) -> Found:
    """One user's submission; of a file that was handed in several times, the latest attachment."""
    latest: dict[tuple[str, str], re.Match[str]] = {}
    replaced = []
    for match in sorted(matches, key=lambda match: (int(match["attachment"] or 0), copy_number(_shown(match)))):
        key = without_copy_suffix(_shown(match))
        if key in latest:
            replaced.append(_shown(latest[key]))
        latest[key] = match
    name = "" if matches[0]["name"] == "anon" else clean(matches[0]["name"])
    late = any(match["late"] for match in matches)
    return Found(
        f"{name or 'anon'} {user}",
        Part(files={_shown(match): match.string for match in latest.values()}),
        tuple(match.string for match in matches),
        Origin(source="canvas", students=(Student(id=user, name=name),), late=late),
        tuple(handed_in_again(file) for file in replaced),
    )


def _shown(match: re.Match[str]) -> str:
    return PurePosixPath(match["file"] or f"{match['page']}.html").name


COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
IDENTITY = (*COLUMNS, "LastName", "FirstName", "Integration ID", "Root Account")
POINTS_POSSIBLE = "Points Possible"
EXCUSED = "EX"
_NUMBERED = re.compile(r"\(\d+\)\s*$")
NO_ID = "Canvas user id unknown. Pass the downloaded gradebook with --template"
ABSENT = "not in the gradebook. Download it again, or add them to the course"


def export(rows: Sequence[Row], request: Request) -> Export:
    """Fill in the gradebook that was downloaded from Canvas, or make one without it.

    Raises:
        ExportError: If Canvas would refuse the file, or take the column for a new assignment.
    """
    if request.template is not None:
        return _filled(rows, read_template(request.template, "the gradebook"), request.assignment_id)
    if not request.assignment_id.isdecimal():
        raise ExportError(
            f"--assignment-id {request.assignment_id!r}: not a number. It is the last number in the assignment's URL "
            "in Canvas; without it, Canvas would create a new assignment."
        )
    rows = [row if row.student.id.isdecimal() else replace(row, refused=NO_ID) for row in rows]
    known = [row for row in rows if row.cell or row.excused]
    possible = max((row.report.max_score for row in rows), default=0)
    table = [
        (*COLUMNS, f"{request.rubric.title['en']} ({request.assignment_id})"),
        (POINTS_POSSIBLE, "", "", "", "", number(possible)),
        *((inert(row.student.name), row.student.id, "", "", "", _points(row)) for row in known),
    ]
    return Export({"canvas.csv": written(table)}, rows, remarks(known))


def _filled(rows: Sequence[Row], template: Template, assignment_id: str) -> Export:
    """The gradebook's rows of students with a grade: the columns that identify them, and that of the assignment."""
    template.column(["Student", "LastName"])
    template.column(["ID"])
    if template.find(["SIS User ID"]) is not None:
        template.column(["SIS Login ID"])  # without it, Canvas refuses the file
    target = _target(template, assignment_id)
    known = {column for name in IDENTITY if (column := template.find([name])) is not None}
    slim = template.only([*sorted(known), target])
    people = {student: line for student, line in slim.students().items() if student.id}
    cells = [[*map(inert, row[:-1]), row[-1]] for row in slim.rows]
    kept = [number for number, row in enumerate(slim.rows) if POINTS_POSSIBLE in row[0]]
    told = []
    for row in rows:
        line = place(row, people, "canvas")
        if line is None:
            told.append(replace(row, refused=ABSENT))
        elif slim.rows[line][-1].strip().upper() != EXCUSED:
            told.append(replace(row, there=read_number(slim.rows[line][-1])))
            if row.grade or row.excused:
                cells[line][-1] = _points(row)
                kept.append(line)
    return Export({"canvas.csv": slim.text(cells[line] for line in sorted(kept))}, told, remarks(told))


def _target(template: Template, assignment_id: str) -> int:
    """The column of the assignment, found by the number in parentheses behind its title."""
    titles = [cell.strip() for cell in template.header]
    ours = [place for place, cell in enumerate(titles) if assignment_id and cell.endswith(f"({assignment_id})")]
    if len(ours) != 1:
        choices = [cell for cell in titles if _NUMBERED.search(cell)]
        there = f"Choose the number of one of: {'; '.join(choices)}." if choices else "--template has no assignment."
        raise ExportError(f"--assignment-id {assignment_id!r}: no such assignment in --template. {there}")
    return ours[0]


def _points(row: Row) -> str:
    return EXCUSED if row.excused else number(row.grade.points if row.grade else None)


FORMATS = {"canvas": Format(export, "return {out} --to canvas --template GRADEBOOK.csv --assignment-id NUMBER")}
