"""Collects the feedback for each student, as a page or in sentences, or the reason for its absence.

Canvas ("Upload Submissions", in the gradebook or on the assignment's page) looks at a file's name alone: it takes the
first two parts between underscores that are numbers for the user and the attachment, wants the attachment to belong to
that submission, and shows the file under the attachment's own name. So a page goes back in a file of the kind that was
handed in: a zip in place of a zip. Source: ``infer_comment_context_from_filename`` in
``app/models/abstract_assignment.rb`` of https://github.com/instructure/canvas-lms.

Moodle ("Upload multiple feedback files in a zip") looks for a folder or a file called
``{name}_{participant}_{type}_{plugin}…``, cut at the first four underscores, and keeps what stands behind as the file's
name. Source: ``is_valid_filename_for_import`` in ``mod/assign/feedback/file/importziplib.php`` of
https://github.com/moodle/moodle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grader.core.export.rows import Row
from grader.core.intake.candidate import Candidate
from grader.core.intake.layout import copy_number
from grader.core.messages import Sentences
from grader.core.results.files import zip_bytes
from grader.core.results.report import Report
from grader.core.rubric import Rubric

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

PAGE = "feedback.html"
_ATTACHED = re.compile(r"(?:.*_)?(?:anon_[^_\W]+|[0-9]+)_[0-9]+_[^/]+", re.DOTALL)
_ENTRY = re.compile(r"(?P<name>.*?)_(?P<id>[0-9]+)_assignsubmission_(?P<plugin>file|onlinetext)", re.DOTALL)
_KINDS = (".zip", ".html", ".htm", ".py", ".txt")  # what a page, or its text, can be put into; the first is the best


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
        page, candidate, files = pages / f"{identifier}.html", candidates.get(identifier), {}
        if to == MAIL:
            why = NO_ADDRESS if not student.email else NO_NAME if not student.name else ""
        else:
            if candidate:
                made = for_canvas if to == CANVAS else for_moodle
                files = made(candidate, read(page), row.comment)
            why = "" if files else ABSENT if row.absent else NO_PLACE[to]
        if why:
            back.without.append((why, f"{student} ({identifier})"))
        elif to == MAIL:
            subject = say(language, "subject", title=rubric.title[language])
            text = " ".join(filter(None, [row.comment, row.remark]))
            letter = f"{say(language, 'hello', name=student.name)}\n\n{text}\n"
            back.letters.append((student.email, student.name, subject, letter, str(page.resolve())))
        back.files |= files
    return back


def comment(report: Report, rubric: Rubric, language: str) -> str:
    """A short text in place of a page, on one line: the points earned, and the properties that failed.

    The report has to be in that language already.
    """
    if report.score is None or report.bonus is None:
        return say(language, report.status, reason=report.reason or "")
    bonus = say(language, "bonus", bonus=report.bonus, most=report.max_bonus) if report.max_bonus else ""
    lost = [
        rubric.properties[prop.id].title[language] if prop.id in rubric.properties else prop.title
        for prop in report.properties.values()
        if prop.points < prop.max_points
    ]
    told = [
        say(language, "score", score=report.score, most=report.max_score, bonus=bonus),
        say(language, "lost", lost=say(language, "between").join(lost)) if lost else say(language, "all"),
        say(language, "page"),
    ]
    return {"en": " ", "zh": ""}[language].join(told)


def for_canvas(candidate: Candidate, page: bytes, comment: str) -> dict[str, bytes]:
    """The file that Canvas attaches to a submission of its download; empty if there is none to attach to.

    A file that can hold no page gets the comment, the same in a few sentences.
    """
    names = [PurePosixPath(name).name for name in candidate.part.files.values()]
    fitting = [name for name in names if _ATTACHED.fullmatch(name) and name.lower().endswith(_KINDS)]
    if not fitting:
        return {}
    name = min(fitting, key=lambda name: (_KINDS.index(_kind(name)), -copy_number(name), name))
    text, kind = f"{comment}\n".encode(), _kind(name)
    page = zip_bytes({PAGE: page}) if kind == ".zip" else page
    return {name: {".py": b"# " + text, ".txt": text}.get(kind, page)}


def _kind(name: str) -> str:
    return next(suffix for suffix in _KINDS if name.lower().endswith(suffix))


def for_moodle(candidate: Candidate, page: bytes, _: str) -> dict[str, bytes]:
    """The page in the participant's folder of Moodle's download; empty if there is no such folder."""
    inside = candidate.part.below or next(iter(candidate.part.files.values()), "")
    found = next(filter(None, map(_ENTRY.match, inside.rstrip("/").split("/"))), None)
    if found is None:
        return {}
    name = found["name"].replace("_", " ")  # another underscore, and Moodle would not find the number
    return {f"{name}_{found['id']}_assignsubmission_{found['plugin']}/{PAGE}": page}
