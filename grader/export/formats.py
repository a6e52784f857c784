"""Every format by its name, and the one way to use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..assignment import Rubric
from ..results.report import Report
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
    """The files of one format, by the policy of the rubric; students without a grade are named in the remarks.

    Raises:
        ExportError: If the platform would not take what could be made.
    """
    due = rubric.policy.due.isoformat() if rubric.policy.due else ""
    request = Request(rubric.id, rubric.title["en"], due, template, assignment_id)
    students = rows(reports, rubric.policy)
    made = FORMATS[to](students, request)
    return Export(made.files, [*blanks(students), *made.remarks], students)
