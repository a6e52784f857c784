"""All formats by name, and the function that exports any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..results.report import Report
from ..rubric import Rubric
from . import canvas, gradescope, junit, moodle, nbgrader, plain
from .rows import Export, Exporter, Request, blanks, rows

FORMATS: Mapping[str, Exporter] = {
    "canvas": canvas.export,
    "moodle": moodle.export,
    "gradescope": gradescope.export,
    "nbgrader": nbgrader.export,
    "junit": junit.export,
    "csv": plain.export,
}


def export(
    reports: Iterable[Report], to: str, rubric: Rubric, template: bytes | None = None, assignment_id: str = ""
) -> Export:
    """The files of one format, with grades by the policy; the remarks name students without a grade.

    Raises:
        ExportError: If the platform would refuse the file.
    """
    due = rubric.policy.due.isoformat() if rubric.policy.due else ""
    request = Request(rubric.id, rubric.title["en"], due, template, assignment_id)
    students = rows(reports, rubric.policy)
    made = FORMATS[to](students, request)
    return replace(made, remarks=[*blanks(students), *made.remarks])
