"""Collects the feedback for each student, as a page or in sentences, or the reason for its absence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.export.rows import Row
from grader.core.intake.candidate import Candidate
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.core.sentences import Sentences

from .platforms import for_canvas, for_moodle

CANVAS, MOODLE, MAIL = "canvas", "moodle", "mail"
WAYS = (CANVAS, MOODLE, MAIL)
ABSENT = "no submission"  # this needs no person's attention
NO_PLACE = {
    CANVAS: "no submitted file (.zip, .py or text) that Canvas could replace with the page",
    MOODLE: "no folder in Moodle's download",
}
NO_ADDRESS = "no email; grade with a roster that has one"
NO_NAME = "no name; grade with a roster that has one"


say = Sentences(Path(__file__).with_name("words.toml"))


@dataclass
class Back:
    """The feedback for the class.

    Attributes:
        files: By name, for the zip of a platform.
        letters: Rows for a mail program: address, name, subject, text and attachment.
        without: Why nothing goes back, and to whom.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    letters: list[Sequence[str]] = field(default_factory=list)
    without: list[tuple[str, str]] = field(default_factory=list)


def collected(
    rows: Iterable[Row],
    to: str,
    pages: Path,
    read: Callable[[Path], bytes],
    candidates: Mapping[str, Candidate],
    rubric: Rubric,
    language: str,
) -> Back:
    """The feedback for these students by one of ``WAYS``, in a language.

    ``pages`` is the folder of their pages, and ``read`` gives the content of one. The candidates
    are the submissions by their ids, in the platform's download.

    Raises:
        OSError: If a page cannot be read.
    """
    back = Back()
    for row in rows:
        student, identifier = row.student, row.report.submission.id
        page = pages / f"{identifier}.html"
        if to == MAIL:
            why = "" if student.email and student.name else NO_NAME if student.email else NO_ADDRESS
            subject = say(language, "subject", title=rubric.title[language])
            text = " ".join(filter(None, [row.comment, row.remark]))
            letter = f"{say(language, 'hello', name=student.name)}\n\n{text}\n"
            letters = [(student.email, student.name, subject, letter, str(page.resolve()))]
            back.letters += [] if why else letters
        else:
            candidate = candidates.get(identifier)
            files = _packed(candidate, read(page), row.comment, to) if candidate else {}
            why = "" if files else ABSENT if row.absent else NO_PLACE[to]
            back.files |= files
        if why:
            back.without.append((why, f"{student} ({identifier})"))
    return back


def _packed(candidate: Candidate, page: bytes, comment: str, to: str) -> dict[str, bytes]:
    return for_canvas(candidate, page, comment) if to == CANVAS else for_moodle(candidate, page)


def comment(report: Report, rubric: Rubric, language: str) -> str:
    """A short text in place of a page, on one line: the points earned, and the properties that failed.

    The report has to be in that language already.
    """
    if report.score is None or report.bonus is None:
        return say(language, report.status, reason=report.reason or "")
    bonus = say(language, "bonus", bonus=report.bonus, most=report.max_bonus) if report.max_bonus else ""
    lost = [
        rubric.properties[prop.id].title[language] if prop.id in rubric.properties else prop.title
        for task in report.tasks
        for prop in task.properties
        if prop.points < prop.max_points
    ]
    told = [
        say(language, "score", score=report.score, most=report.max_score, bonus=bonus),
        say(language, "lost", lost=say(language, "between").join(lost)) if lost else say(language, "all"),
        say(language, "page"),
    ]
    return {"en": " ", "zh": ""}[language].join(told)
