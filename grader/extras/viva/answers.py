"""Reads answers from what a platform, or the page, exports, and grades them by the key."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from grader.core.export.rows import ExportError
from grader.core.export.table import read_template
from grader.core.results.report import Practice, Record, first_problem, write_json

from .quiz import KEY, Key, Question

ANSWERS = "viva-answers.json"  # in the folder of reports
ReadT = TypeVar("ReadT", bound=Record)
CODE = re.compile(r"\[(anon-[a-z2-7]+-\d+-[0-9a-f]+)\]")


class AnswersError(Exception):
    """A file that cannot be used; the message is one line that says why, and what to do. All readers raise it."""


class Understood(Record):
    """What answers were worth, by submission; ``unsettled`` names questions whose answer is none of the options."""

    submissions: dict[str, Practice]


def read_key(folder: Path) -> Key:
    """The key of the class."""
    return _read(folder / KEY, Key, "Run viva --out, with the same --seed as before.")


def read_understood(folder: Path) -> dict[str, Practice]:
    """What is known so far; empty before any answers were read."""
    path = folder / ANSWERS
    return _read(path, Understood, "Delete it, and read the answers again.").submissions if path.exists() else {}


def write_understood(folder: Path, found: Mapping[str, Practice]) -> None:
    """Keep what is known."""
    write_json(folder / ANSWERS, Understood(submissions=dict(sorted(found.items()))))


def read_answers(path: Path) -> dict[str, str]:
    """From the code of a question to the answer in a CSV; of several attempts, the last one.

    A question's text begins with its code. It is either the heading of the column of its answers, as in Canvas' student
    analysis, or a cell left of the answer, as in Moodle's report of responses and in what the page saves.
    """
    try:
        table = read_template(path.read_bytes(), "the export of answers")
    except (OSError, ExportError) as error:
        raise AnswersError(f"--answers {path}: {error}".replace("--template: ", "")) from None
    found = {code: answer for row in table.rows for code, answer in _in_row(table.header, row) if answer.strip(" -")}
    if not found:
        raise AnswersError(
            f"--answers {path}: no answer to a question of viva. From Moodle, export the responses with question text "
            "and response; from Canvas, the quiz's student analysis."
        )
    return found


def graded(key: Key, answers: Mapping[str, str]) -> dict[str, Practice]:
    """The points of everyone who answered any question; a question without an answer is wrong."""
    found = {}
    for quiz in key.quizzes:
        given = [(code, one, _chosen(one, answers[code])) for code, one in quiz.numbered if code in answers]
        if given:
            right = sum(choice == one.right for _, one, choice in given)
            unsettled = [code for code, _, choice in given if choice is None]
            found[quiz.id] = Practice(points=right, max_points=len(quiz.questions), unsettled=unsettled)
    return found


def _read(path: Path, model: type[ReadT], remedy: str) -> ReadT:
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise AnswersError(f"{path}: {error.strerror}. {remedy}") from None
    except ValidationError as error:
        raise AnswersError(f"{path}: {first_problem(error)}. {remedy}") from None


def _in_row(header: tuple[str, ...], row: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place, cell in enumerate(row):
        if code := CODE.search(header[place]):
            yield code[1], cell
        elif (code := CODE.search(cell)) and place + 1 < len(row):
            yield code[1], row[place + 1]


def _chosen(question: Question, answer: str) -> int | None:
    """The option that an answer repeats, whatever has become of its blanks and markup."""
    texts = ["".join(option.text.split()) for option in question.options]
    plain = html.unescape(re.sub(r"</?(?:p|code|pre|div|br)\b[^>]*>", "", answer))
    return next((texts.index(own) for own in ("".join(answer.split()), "".join(plain.split())) if own in texts), None)
