"""Reads answers from what a platform, or the page, exports, and grades them by the key."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from grader.core.export.rows import ExportError
from grader.core.export.table import read_template
from grader.core.results.report import Practice, Record, first_problem, write_text

from .question import Question
from .quiz import KEY, Key

ANSWERS = "viva-answers.json"  # in the folder of reports
CODE = re.compile(r"\[(anon-[a-z2-7]+-\d+-[0-9a-f]+)\]")


class AnswersError(Exception):
    """A file that cannot be used; the message is one line that says why, and what to do."""


class Understood(Record):
    """What the answers were worth, by submission; ``unsettled`` names questions whose answer is none of the options."""

    submissions: dict[str, Practice]


def read_key(folder: Path) -> Key:
    """The key of the class.

    Raises:
        AnswersError: If there is none, or it is damaged.
    """
    try:
        return Key.model_validate_json((folder / KEY).read_bytes())
    except OSError:
        raise AnswersError(
            f"{folder}: no {KEY} in it. Run viva --out first; the key is written beside the reports."
        ) from None
    except ValidationError as error:
        raise AnswersError(
            f"{folder / KEY}: {first_problem(error)}. Run viva --out again with the same --seed."
        ) from None


def read_understood(folder: Path) -> dict[str, Practice]:
    """What is known so far; empty before any answers were read.

    Raises:
        AnswersError: If the file is damaged.
    """
    path = folder / ANSWERS
    if not path.exists():
        return {}
    try:
        return Understood.model_validate_json(path.read_bytes()).submissions
    except ValidationError as error:
        raise AnswersError(f"{path}: {first_problem(error)}. Delete it, and read the answers again.") from None


def write_understood(folder: Path, found: Mapping[str, Practice]) -> None:
    """Keep what is known.

    Raises:
        OSError: If the file cannot be written.
    """
    write_text(folder / ANSWERS, Understood(submissions=dict(sorted(found.items()))).model_dump_json(indent=1) + "\n")


def read_answers(path: Path) -> dict[str, str]:
    """From the code of a question to the answer in a CSV; of several attempts, the last one.

    A question's text begins with its code. It is either the heading of the column of its answers, as in Canvas' student
    analysis, or a cell left of the answer, as in Moodle's report of responses and in what the page saves.

    Raises:
        AnswersError: If the file is no CSV, or has no code of a question in it.
    """
    try:
        table = read_template(path.read_bytes(), "the export of answers")
    except OSError as error:
        raise AnswersError(f"--answers {path}: {error.strerror}.") from None
    except ExportError as error:
        raise AnswersError(f"{path}: {error}".replace("--template: ", "")) from None
    found = {code: answer for row in table.rows for code, answer in _in_row(table.header, row) if answer.strip(" -")}
    if not found:
        raise AnswersError(
            f"--answers {path}: no answer to a question of viva. From Moodle, export the responses with question "
            "text and response; in Canvas, the quiz's student analysis."
        )
    return found


def graded(key: Key, answers: Mapping[str, str]) -> dict[str, Practice]:
    """The points of everyone who answered any question."""
    found = {}
    for quiz in key.quizzes:
        given = {number: answers.get(quiz.code(number)) for number in range(1, len(quiz.questions) + 1)}
        if not any(given.values()):
            continue
        chosen = {n: _chosen(quiz.questions[n - 1], text) for n, text in given.items() if text is not None}
        right = sum(choice == quiz.questions[n - 1].right for n, choice in chosen.items())
        unsettled = [quiz.code(n) for n, choice in chosen.items() if choice is None]
        found[quiz.id] = Practice(points=right, max_points=len(quiz.questions), unsettled=unsettled)
    return found


def _in_row(header: tuple[str, ...], row: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place, cell in enumerate(row):
        if code := CODE.search(header[place]):
            yield code[1], cell
        elif (code := CODE.search(cell)) and place + 1 < len(row):
            yield code[1], row[place + 1]


def _chosen(question: Question, answer: str) -> int | None:
    """The option that an answer repeats, whatever has become of its blanks and markup."""
    texts = [_bare(option.text) for option in question.options]
    for own in (_bare(answer), _bare(html.unescape(re.sub(r"</?(?:p|code|pre|div|br)\b[^>]*>", "", answer)))):
        if own in texts:
            return texts.index(own)
    return None


def _bare(text: str) -> str:
    return "".join(text.split())
