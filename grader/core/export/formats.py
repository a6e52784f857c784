"""All formats by name, and the function that exports any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.core.grades.decided import DecidedClass
from grader.core.results.report import Report

from . import canvas, columns, junit, moodle
from .rows import Export, Exporter, Request, blanks, rows

FORMATS: Mapping[str, Exporter] = {
    "canvas": canvas.export,
    "moodle": moodle.export,
    "gradescope": columns.gradescope,
    "nbgrader": columns.nbgrader,
    "junit": junit.export,
    "csv": columns.plain,
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
    made = FORMATS[to](students, Request(known.rubric, template, assignment_id))
    return replace(made, remarks=[*made.remarks, *blanks(students)])
