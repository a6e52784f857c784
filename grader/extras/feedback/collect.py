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


class _Nothing(Exception):
    """There is no feedback for a student; the text gives the reason."""


@dataclass(frozen=True)
class Collector:
    """Collects the feedback of a class.

    Attributes:
        to: One of ``WAYS``.
        pages: The folder of the students' pages, which were written just now.
        candidates: The submissions by their ids, in the platform's download.
        rubric: Has the title.
        language: Of subjects and greetings.
    """

    to: str
    pages: Path
    candidates: Mapping[str, Candidate]
    rubric: Rubric
    language: str

    def collect(self, rows: Iterable[Row]) -> Back:
        """The feedback for these students.

        Raises:
            OSError: If a page cannot be read.
        """
        back = Back()
        for row in rows:
            try:
                page = self.pages / f"{row.report.submission.id}.html"
                if self.to == MAIL:
                    back.letters.append(self._letter(row, page))
                else:
                    back.files |= self._files(row, page)
            except _Nothing as reason:
                back.without.setdefault(str(reason), []).append(f"{row.student} ({row.report.submission.id})")
        return back

    def _letter(self, row: Row, page: Path) -> Sequence[str]:
        name, address = row.student.name, row.student.email
        if not address:
            raise _Nothing(NO_ADDRESS)
        if not name:
            raise _Nothing(NO_NAME)
        text = letter(name, " ".join(filter(None, [row.comment, row.remark])), self.language)
        return address, name, subject(self.rubric, self.language), text, str(page.resolve())

    def _files(self, row: Row, page: Path) -> dict[str, bytes]:
        candidate, data = self.candidates.get(row.report.submission.id), page.read_bytes()
        files: dict[str, bytes] = {}
        if candidate:
            files = for_canvas(candidate, data, row.comment) if self.to == CANVAS else for_moodle(candidate, data)
        if not files:
            raise _Nothing(ABSENT if row.source == "roster" else NO_PLACE[self.to])
        return files
