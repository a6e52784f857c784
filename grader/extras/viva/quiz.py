"""What a question is, the six that are drawn for a student, and the key that grades the answers."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.core.results.report import Record, write_text

KEY = "viva.json"  # in the folder of reports; it holds the answers
KINDS = ("predict", "shape", "what_if", "find", "why", "growth")
LEAST_OPTIONS = 4
EASY, MEDIUM = 5, 15  # lines that run between the line and the effect, at most


@dataclass(frozen=True)
class Option:
    """One answer to choose.

    Attributes:
        origin: For the examiner: why it is wrong; empty for the right one.
        is_code: Whether it is code or a value, rather than words.
        rank: Its place among options that have an order of their own, such as numbers of lines.
    """

    text: str
    origin: str = ""
    is_code: bool = False
    rank: int = 0


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        kind: One of :data:`KINDS`.
        blocks: Code below the prompt.
        why: For the examiner: how the answer was found.
        place: The line that it is about, as ``path:line``; empty where it is about a call alone.
        steps: How many lines of the submission run between the line and the effect.
        right: The number of the right option.
    """

    kind: str
    task: str
    prompt: str
    blocks: tuple[str, ...]
    options: tuple[Option, ...]
    why: str
    place: str
    steps: int
    right: int = 0

    @property
    def difficulty(self) -> str:
        """``easy``, ``medium`` or ``hard``."""
        return "easy" if self.steps <= EASY else "medium" if self.steps <= MEDIUM else "hard"

    @property
    def is_clear(self) -> bool:
        """Whether it has enough options, and all read differently."""
        texts = ["".join(option.text.split()) for option in self.options]
        return len(texts) >= LEAST_OPTIONS and len(set(texts)) == len(texts)


class Quiz(Record):
    """What the author of one submission is asked, under a pseudonym.

    Attributes:
        pool: How many questions of each kind there were to draw from.
    """

    id: str
    name: str
    pool: dict[str, int]
    questions: list[Question]

    @property
    def numbered(self) -> list[tuple[str, Question]]:
        """Each question with its code, which begins its text on a platform; another question has another code."""
        return [(f"{self.name}-{number}-{_digest(one)}", one) for number, one in enumerate(self.questions, 1)]


class Key(Record):
    """All quizzes of a class."""

    seed: int
    language: str
    quizzes: list[Quiz]

    def write(self, folder: Path) -> None:
        """Write it where only its owner may read it."""
        write_text(folder / KEY, self.model_dump_json(indent=1) + "\n", mode=0o600)


def drawn(identifier: str, name: str, pool: Sequence[Question], seed: int) -> Quiz:
    """The quiz of one student: a question of each kind where there is one, about as many places and tasks as possible.

    The same seed gives the same quiz; students with the same code get different ones.
    """
    rng = random.Random(f"{seed}:{identifier}")
    left, chosen = rng.sample(pool, len(pool)), list[Question]()
    while left and len(chosen) < len(KINDS):
        chosen.append(min(left, key=lambda one: _repeats(one, chosen)))
        left = [one for one in left if one != chosen[-1]]
    questions = [_in_order(one, rng) for one in sorted(chosen, key=lambda one: KINDS.index(one.kind))]
    return Quiz(id=identifier, name=name, pool=dict(Counter(one.kind for one in pool)), questions=questions)


def _repeats(question: Question, chosen: Sequence[Question]) -> tuple[bool, bool, int]:
    """How much of a question was asked before: its kind, its place, and its task."""
    kinds, tasks = [one.kind for one in chosen], [one.task for one in chosen]
    return question.kind in kinds, question.place in {one.place for one in chosen} - {""}, tasks.count(question.task)


def _in_order(question: Question, rng: random.Random) -> Question:
    """The question with its options as they are shown: by their own order where they have one, else by chance."""
    order = list(range(len(question.options)))
    rng.shuffle(order)
    order.sort(key=lambda number: question.options[number].rank)
    return replace(question, options=tuple(question.options[number] for number in order), right=order.index(0))


def _digest(question: Question) -> str:
    texts = (question.prompt, *question.blocks, *(option.text for option in question.options))
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:4]
