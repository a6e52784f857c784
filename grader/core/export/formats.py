"""All formats by name, and the function that exports any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from grader.core.grades.decided import DecidedClass
from grader.core.results.report import Report

from . import canvas, columns, junit, moodle
from .rows import Export, Exporter, Request, blanks, rows


class Format(NamedTuple):
    """The function that makes a file of grades, and the command by which grades get to the platform of that name.

    In the command, words in capitals stand for what was downloaded from the platform.
    """

    make: Exporter
    way: str = "export {out} --to csv"


FORMATS: Mapping[str, Format] = {
    "canvas": Format(canvas.export, "return {out} --to canvas --template GRADEBOOK.csv --assignment-id NUMBER"),
    "moodle": Format(moodle.export, "return {out} --to moodle --template WORKSHEET.csv"),
    "gradescope": Format(columns.gradescope, "export {out} --to gradescope"),
    "nbgrader": Format(columns.nbgrader),
    "junit": Format(junit.export),
    "csv": Format(columns.plain),
}


def export(
    known: DecidedClass,
    to: str,
    template: bytes | None = None,
    assignment_id: str = "",
    comment: Callable[[Report], str] | None = None,
    language: str = "en",
) -> Export:
    """The files of one of ``FORMATS``, with grades by the policy and by people.

    The last remarks name students without a grade. Template and ``assignment_id`` are those of :class:`Request`;
    ``comment`` builds the comment on a student's grade, where the file has a place for it; remarks are in a language.

    Raises:
        ExportError: If the platform would refuse the file.
    """
    students = rows(known, comment, language)
    made = FORMATS[to].make(students, Request(known.rubric, template, assignment_id))
    return replace(made, remarks=[*made.remarks, *blanks(students)])
