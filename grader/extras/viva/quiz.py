"""Six questions for each student, drawn from all that could be asked, and the key that grades the answers."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.core.results.report import Record, write_text

from .question import KINDS, Question

KEY = "viva.json"  # in the folder of reports; it holds the answers
ASKED = 6


class Quiz(Record):
    """What one student is asked.

    Attributes:
        id: Of the submission.
        name: The pseudonym that stands on everything that leaves this folder.
        pool: How many questions of each kind there were to draw from.
        questions: With their options in the order in which they are shown.
    """

    id: str
    name: str
    pool: dict[str, int]
    questions: list[Question]

    def code(self, number: int) -> str:
        """What a question is called on a platform, by its place from 1; another question there has another code."""
        question = self.questions[number - 1]
        texts = (question.prompt, *question.blocks, *(option.text for option in question.options))
        return f"{self.name}-{number}-{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:4]}"


class Key(Record):
    """All quizzes of a class."""

    seed: int
    language: str
    quizzes: list[Quiz]

    def write(self, folder: Path) -> None:
        """Write it where only its owner may read it.

        Raises:
            OSError: If that cannot be done.
        """
        write_text(folder / KEY, self.model_dump_json(indent=1) + "\n", mode=0o600)


def drawn(identifier: str, name: str, pool: Sequence[Question], seed: int) -> Quiz:
    """The quiz of one student: a question of each kind where there is one, about as many places and tasks as possible.

    The same seed gives the same quiz; students with the same code get different ones.
    """
    rng = random.Random(f"{seed}:{identifier}")
    chosen: list[Question] = []
    for kind in (*KINDS, *[None] * ASKED):
        if len(chosen) < min(ASKED, len(pool)):
            fitting = [one for one in pool if one not in chosen and kind in (None, one.kind)]
            rng.shuffle(fitting)
            chosen += sorted(fitting, key=lambda one: _repeats(one, chosen))[:1]
    questions = [_in_order(one, rng) for one in sorted(chosen, key=lambda one: KINDS.index(one.kind))]
    return Quiz(id=identifier, name=name, pool=dict(Counter(one.kind for one in pool)), questions=questions)


def _repeats(question: Question, chosen: Sequence[Question]) -> tuple[int, int]:
    """How much of a question was asked before: its place, and its task."""
    places = {one.place for one in chosen if one.place}
    return int(question.place in places), sum(one.task == question.task for one in chosen)


def _in_order(question: Question, rng: random.Random) -> Question:
    """The question with its options as they are shown: lines and fixed sentences in their order, others in any."""
    order = list(range(len(question.options)))
    if question.kind in ("what_if", "find"):
        order.sort(key=lambda number: question.options[number].rank)
    else:
        rng.shuffle(order)
    options = tuple(question.options[number] for number in order)
    return replace(question, options=options, right=order.index(0))
