"""Tables that were downloaded from a platform, or that an earlier export wrote, and the grades in them."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from grader.core.export.drops import Before
from grader.core.export.rows import ExportError, Row
from grader.core.export.table import joined
from grader.core.grades.people import Key, key
from grader.core.intake.origin import Student
from grader.core.intake.roster import delimiter_of, heading, match, student_of

BOM = "\ufeff"
# Headings of a grading worksheet of Moodle, in the languages of sites.
IDENTIFIER = "identifier"  # the first column, whatever it is called
GRADE: tuple[str, ...] = ("Grade", "成绩", "分数", "成績", "Bewertung", "Note", "Calificación", "Cijfer", "Beoordeling")
GRADE += ("Nota", "Valutazione", "Оценка", "評点")
MODIFIED: tuple[str, ...] = ("Last modified (grade)", "最后修改（成绩）", "最后修改（评分）", "最后修改（教师）")
MODIFIED += ("最終更新日時 (評定)",)
MODIFIED += ("Zuletzt geändert (Bewertung)", "Última modificación (calificación)", "Dernière modification (note)")
MODIFIED += ("Laatst gewijzigd (beoordeling)", "Последнее изменение (оценка)")
GRADES = tuple(map(heading, (*GRADE, "Total Score", "score")))  # of Moodle and plain tables, Gradescope, nbgrader
_OF_CANVAS = re.compile(r"\(\d+\)$")


@dataclass(frozen=True)
class Template:
    """A table that was downloaded from a platform, to be filled in and uploaded again.

    Attributes:
        of: What messages call it.
        delimiter: The one found in the file; see :func:`delimiter_of`.
        bom: The byte order mark that the file began with, to be written again; empty if it had none.
    """

    of: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    delimiter: str
    bom: str

    def column(self, names: Sequence[str]) -> int:
        """The number of the column whose heading is one of these names.

        Raises:
            ExportError: If there is none.
        """
        found = self.find(names)
        if found is None:
            raise ExportError(f"--template: no column {names[0]!r}. Pass {self.of}, as downloaded.")
        return found

    def find(self, names: Iterable[str]) -> int | None:
        """The number of the column whose heading is one of these names; None if there is none."""
        return next((self.headings.index(label) for label in map(heading, names) if label in self.headings), None)

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
        return self.bom + joined([self.header, *rows], self.delimiter)

    def only(self, columns: Sequence[int]) -> Template:
        """The same table with these columns alone."""
        rows = (tuple(row[column] for column in columns) for row in self.rows)
        return replace(self, header=tuple(self.header[column] for column in columns), rows=tuple(rows))


def place(row: Row, people: Mapping[Student, int], platform: str) -> int | None:
    """The number of the row that is a student's in a table of a platform, whose ids are no other platform's."""
    student = row.student if row.source == platform else row.student.model_copy(update={"id": ""})
    found = match(student, [*people])
    return None if found is None else people[found]


def read_template(data: bytes | None, of: str, option: str = "--template") -> Template:
    """Parse a downloaded table; error messages call it ``of``, and name the ``option`` that gave it.

    Raises:
        ExportError: If no file was given, or it is no table.
    """
    if data is None:
        raise ExportError(f"--template is missing. Pass {of}, as downloaded.")
    try:
        text = data.decode("utf-8")
        bom = BOM if text.startswith(BOM) else ""
        text = text.removeprefix(BOM)
        delimiter = delimiter_of(text)
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except (ValueError, csv.Error) as error:
        raise ExportError(f"{option}: not a UTF-8 CSV ({error}). Pass {of}, as downloaded.") from None
    padded = [tuple(row + [""] * (len(header) - len(row)))[: len(header)] for row in rows]
    return Template(of, tuple(header), tuple(padded), delimiter, bom)


def read_number(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if there is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def in_file(path: Path, rows: Iterable[Row]) -> dict[Key, Before]:
    """The grades in a file that an earlier export wrote, whose ledger may be lost; none where it is no such file."""
    try:
        table = read_template(path.read_bytes(), path.name)
    except (OSError, ExportError):
        return {}
    columns = {name: number for number, name in enumerate(table.headings)}
    places = [columns[name] for name in (*GRADES, *filter(_OF_CANVAS.search, columns)) if name in columns]
    everyone = table.students(IDENTIFIER if table.find(MODIFIED) is not None else "") if places else {}
    known = {student: table.rows[line][places[0]] for student, line in everyone.items()}
    found = ((key(row.student), match(row.student, [*known])) for row in rows)
    told = ((who, read_number(known[student])) for who, student in found if student)
    return {who: (points, f"in {path.name} of an earlier export") for who, points in told if points is not None}
