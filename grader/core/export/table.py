"""CSV in and out: quoted properly, in UTF-8, and with no cell that a spreadsheet would run.

The plain table has a row for each student.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from grader.core.intake.origin import Student
from grader.core.intake.roster import heading, match, student_of
from grader.core.results.report import Report

from .rows import Export, ExportError, Request, Row

BOM = "\ufeff"
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Template:
    """A table that was downloaded from a platform, to be filled in and uploaded again.

    Attributes:
        delimiter: The one found in the file: a comma, or a semicolon where the comma is the decimal sign.
        bom: The byte order mark that the file began with, to be written again; empty if it had none.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    delimiter: str
    bom: str

    def column(self, names: Iterable[str], of: str) -> int:
        """The number of the column whose heading is one of these names; a message calls the file ``of``.

        Raises:
            ExportError: If there is none.
        """
        wanted = [*names]
        found = self.find(wanted)
        if found is None:
            raise ExportError(f"--template: no column {wanted[0]!r}. Pass {of}, as downloaded.")
        return found

    def find(self, names: Iterable[str]) -> int | None:
        """The number of the column whose heading is one of these names; None if there is none."""
        return next((self.headings.index(own) for own in map(heading, names) if own in self.headings), None)

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The headings, for comparison."""
        return tuple(map(heading, self.header))

    def students(self, first: str = "") -> dict[Student, int]:
        """Everyone in the table, with the number of the row; ``first`` replaces its first heading."""
        headings = (first or self.headings[0], *self.headings[1:])
        rows = (dict(zip(headings, row, strict=True)) for row in self.rows)
        return {student_of(row): number for number, row in enumerate(rows)}

    def text(self, rows: Iterable[Sequence[str]]) -> str:
        """The same table with other rows."""
        return self.bom + _joined([self.header, *rows], self.delimiter)

    def only(self, columns: Sequence[int]) -> Template:
        """The same table with these columns alone."""
        rows = (tuple(row[own] for own in columns) for row in self.rows)
        return replace(self, header=tuple(self.header[own] for own in columns), rows=tuple(rows))


def place(row: Row, people: Mapping[Student, int], platform: str) -> int | None:
    """The number of the row that is a student's in a table of a platform, whose ids are no other platform's."""
    student = row.student if row.source == platform else row.student.model_copy(update={"id": ""})
    found = match(student, [*people])
    return None if found is None else people[found]


def read_template(data: bytes | None, of: str) -> Template:
    """Parse a downloaded table, which an error message calls ``of``.

    Raises:
        ExportError: If no file was given, or it is no table.
    """
    if data is None:
        raise ExportError(f"--template is missing. Pass {of}, as downloaded.")
    try:
        text = data.decode("utf-8")
        bom = BOM if text.startswith(BOM) else ""
        text = text.removeprefix(BOM)
        first = text.partition("\n")[0]
        delimiter = ";" if first.count(";") > first.count(",") else ","
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (ValueError, csv.Error) as error:
        raise ExportError(f"--template: not a UTF-8 CSV ({error}). Pass {of}, as downloaded.") from None
    padded = [tuple(row + [""] * (len(header) - len(row)))[: len(header)] for row in rows]
    return Template(tuple(header), tuple(padded), delimiter, bom)


def written(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """A table of our own as CSV text, with the line ends that RFC 4180 asks for; no cell in it is a formula."""
    return _joined(([inert(str(cell)) for cell in row] for row in rows), delimiter)


def _joined(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    return buffer.getvalue()


def inert(text: str) -> str:
    """The text, changed where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def read_number(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if there is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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
    "decided_by": lambda row, _: "; ".join(
        f"{own.decision.who}, {own.decision.when.date()}: {own.decision.slot}" for own in row.rulings
    ),
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
    """The points of tasks and properties, by id; none where nothing was graded."""
    parts: dict[str, float] = {}
    for task in report.tasks if report.status == "graded" else ():
        parts |= {task.id: task.score} | {prop.id: prop.points for prop in task.properties}
    return parts
