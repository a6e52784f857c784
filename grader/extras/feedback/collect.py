"""Collects the feedback for each student, or the reason for its absence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.export.rows import Row
from grader.core.intake.candidate import Candidate
from grader.core.rubric import Rubric

from .platforms import for_canvas, for_moodle
from .text import letter, subject

CANVAS, MOODLE, MAIL = "canvas", "moodle", "mail"
WAYS = (CANVAS, MOODLE, MAIL)
ABSENT = "no submission"  # this needs no person's attention
NO_PLACE = {
    CANVAS: "no file that Canvas could replace by a page (.zip, .py or text)",
    MOODLE: "no folder in Moodle's download",
}
NO_ADDRESS = "no email; grade with a roster that has one"
NO_NAME = "no name; grade with a roster that has one"


@dataclass
class Back:
    """The feedback for the class.

    Attributes:
        files: By name, for the zip of a platform.
        letters: Rows for a mail program: address, name, subject, text and attachment.
        without: The students to whom nothing goes back, by the reason.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    letters: list[Sequence[str]] = field(default_factory=list)
    without: dict[str, list[str]] = field(default_factory=dict)


def collected(
    rows: Iterable[Row],
    to: str,
    pages: Path,
    candidates: Mapping[str, Candidate],
    rubric: Rubric,
    language: str,
) -> Back:
    """The feedback for these students.

    Args:
        rows: Of the class.
        to: One of ``WAYS``.
        pages: The folder of the students' pages, which were written just now.
        candidates: The submissions by their ids, in the platform's download.
        rubric: Has the title.
        language: Of subjects and greetings.

    Raises:
        OSError: If a page cannot be read.
    """
    back = Back()
    for row in rows:
        student, identifier = row.student, row.report.submission.id
        page = pages / f"{identifier}.html"
        if to == MAIL:
            why = "" if student.email and student.name else NO_NAME if student.email else NO_ADDRESS
            text = letter(student.name, " ".join(filter(None, [row.comment, row.remark])), language)
            letters = [(student.email, student.name, subject(rubric, language), text, str(page.resolve()))]
            back.letters += [] if why else letters
        else:
            files = _files(candidates.get(identifier), page, row.comment, to)
            why = "" if files else ABSENT if row.absent else NO_PLACE[to]
            back.files |= files
        if why:
            back.without.setdefault(why, []).append(f"{student} ({identifier})")
    return back


def _files(candidate: Candidate | None, page: Path, comment: str, to: str) -> dict[str, bytes]:
    if candidate is None:
        return {}
    data = page.read_bytes()
    return for_canvas(candidate, data, comment) if to == CANVAS else for_moodle(candidate, data)
