"""All formats by name, and the function that exports any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from grader.core.grades.book import NOTHING, Book
from grader.core.grades.words import sentence
from grader.core.results.report import Report
from grader.core.rubric import Rubric

from . import canvas, columns, junit, moodle
from .rows import Export, Exporter, Request, Row, blanks, rows

FORMATS: Mapping[str, Exporter] = {
    "canvas": canvas.export,
    "moodle": moodle.export,
    "gradescope": columns.gradescope,
    "nbgrader": columns.nbgrader,
    "junit": junit.export,
    "csv": columns.plain,
}


def export(
    reports: Iterable[Report],
    to: str,
    rubric: Rubric,
    template: bytes | None = None,
    assignment_id: str = "",
    book: Book = NOTHING,
    comment: Callable[[Report], str] | None = None,
) -> Export:
    """The files of one format, with grades by the policy and by people; the remarks name students without a grade.

    Args:
        reports: Of the class.
        to: One of ``FORMATS``.
        rubric: Has the policy.
        template: A file that was downloaded from the platform.
        assignment_id: The number that the platform gives the assignment.
        book: What people decided.
        comment: Builds the comment on a student's grade, where the file has a place for it; None for no comments.

    Raises:
        ExportError: If the platform would refuse the file.
    """
    due = rubric.policy.due.isoformat() if rubric.policy.due else ""
    request = Request(rubric.id, rubric.title["en"], due, template, assignment_id)
    students = [
        replace(row, decided=_in_words(row, rubric), comment=comment(row.report) if comment else "")
        for row in rows(reports, rubric.policy, book)
    ]
    made = FORMATS[to](students, request)
    return replace(made, remarks=[*blanks(students), *made.remarks])


def _in_words(row: Row, rubric: Rubric) -> str:
    return " ".join(" ".join(sentence(ruling.decision, rubric, "en").split()) for ruling in row.rulings)
