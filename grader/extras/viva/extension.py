"""Answers to questions about one's own code: read, graded, and shown by the core beside the grade."""

from __future__ import annotations

import contextlib
import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from grader.core.export.rows import ExportError
from grader.core.results.report import Practice, Record
from grader.core.results.statistics import Entry
from grader.core.results.written import NotWritten, read_written
from grader.followup.table import read_template

from .quiz import Key, Question, say

ANSWERS = "viva-answers.json"  # in the folder of reports
CODE = re.compile(r"\[(anon-[a-z2-7]+-\d+-[0-9a-f]+)\]")


class Understood(Record):
    """What answers were worth, by submission; ``unsettled`` names questions whose answer is none of the options."""

    submissions: dict[str, Practice]


def understood(folder: Path) -> dict[str, Practice]:
    """The points by submission; none where no answers were read, or the file is damaged, as ``viva --answers`` says."""
    with contextlib.suppress(NotWritten):
        return read_written(folder / ANSWERS, Understood).submissions
    return {}


def picture(entries: Sequence[Entry], language: str) -> Markup:
    """A section of the class page: right code against understood code; empty without answers."""
    from grader.core.pages.render import templates  # slow to import, and every command imports this file

    graded = [one for one in entries if one.line.score is not None and "understood" in one.beside]
    pairs = sorted(Counter((one.line.score, one.beside["understood"].points) for one in graded).items())
    template = templates(Path(__file__).parent).get_template("picture.html.j2")
    most = max((one.line.max_score for one in graded), default=0)
    return Markup(template.render(pairs=pairs, most=most, ask=partial(say, language)))  # our template escapes values


def read_answers(path: Path) -> dict[str, str]:
    """From the code of a question to the answer in a CSV; of several attempts, the last one.

    A question's text begins with its code. It is either the heading of the column of its answers, as in Canvas' student
    analysis, or a cell left of the answer, as in Moodle's report of responses and in what the page saves.

    Raises:
        ExportError: If it is no such table.
    """
    try:
        table = read_template(path.read_bytes(), "the export of answers", f"--answers {path}")
    except OSError as error:
        raise ExportError(f"--answers {path}: {error}") from None
    found = dict[str, str]()
    for row in table.rows:
        for heading, cell, following in zip(table.header, row, (*row[1:], ""), strict=True):
            code, answer = CODE.search(heading) or CODE.search(cell), cell if CODE.search(heading) else following
            if code and answer.strip(" -"):
                found[code[1]] = answer
    if not found:
        raise ExportError(
            f"--answers {path}: no answer to a question of viva. From Moodle, export the responses with question text "
            "and response; from Canvas, the quiz's student analysis."
        )
    return found


def graded(key: Key, answers: Mapping[str, str]) -> dict[str, Practice]:
    """The points of everyone who answered any question; a question without an answer is wrong."""
    found = {}
    for quiz in key.quizzes:
        if given := [(code, one.answer, _chosen(one, answers[code])) for code, one in quiz.numbered if code in answers]:
            right, unsettled = sum(a == b for _, a, b in given), [code for code, _, choice in given if choice is None]
            found[quiz.id] = Practice(points=right, max_points=len(quiz.questions), unsettled=unsettled)
    return found


def _chosen(question: Question, answer: str) -> str | None:
    """The option that an answer repeats, regardless of blanks and markup."""
    options = {"".join(option.split()): option for option in question.options}
    plain = html.unescape(re.sub(r"</?(?:p|code|pre|div|br)\b[^>]*>", "", answer))
    return options.get("".join(answer.split())) or options.get("".join(plain.split()))
