"""What a question is, the six that are drawn for a student, and the key that grades the answers."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.messages import Sentences
from grader.core.results.report import Record

from .source import Edit, Place

KEY = "viva.json"  # in the folder of reports; it holds the answers
KINDS = ("predict", "shape", "what_if", "find", "why", "growth")
OPTIONS = 4
NEAR = 3  # lines; a question may answer another one about such a neighbour
say = Sentences(Path(__file__).with_name("words.toml"))


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        kind: One of :data:`KINDS`.
        blocks: Code below the prompt.
        options: As they are shown; the answer, and others that were shown to be wrong.
        why: For the examiner: how the answer was found.
        edits: The lines that it is about or offers, the answer's first, and what they are changed to, if they are.
        difficulty: How many different lines run, at least, until its answer is known: what others have to follow.
    """

    kind: str
    prompt: str
    blocks: Sequence[str]
    options: Sequence[str]
    answer: str
    why: str
    edits: Sequence[Edit]
    difficulty: int

    @property
    def about(self) -> set[Place | str]:
        """Its file, its code, the lines that it is about, and lines below, so that those of neighbours overlap."""
        lines = {(edit.place[0], edit.place[1] + further) for edit in self.edits for further in range(NEAR)}
        code = {text for block in self.blocks for text in (block, block.partition("\n")[2])}  # without a number, too
        return (lines | code | {self.edits[0].place[0]}) - {""}


class Quiz(Record):
    """The questions to the author of one submission, under a pseudonym; ``pool`` counts the questions to draw from."""

    id: str
    name: str
    pool: int
    questions: list[Question]

    @property
    def numbered(self) -> list[tuple[str, Question]]:
        """Each question with its code, which begins its text on a platform; another question has another code."""
        texts = ["\0".join([one.prompt, *one.blocks, *one.options]) for one in self.questions]
        digests = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4] for text in texts]
        return [(f"{self.name}-{n}-{digests[n - 1]}", one) for n, one in enumerate(self.questions, 1)]


class Key(Record):
    """All quizzes of a class."""

    quizzes: list[Quiz]


def drawn(identifier: str, name: str, pool: Sequence[Question], seed: int) -> Quiz:
    """The quiz of one student: of each kind where there is one, about distant lines, from as many files as possible.

    The harder half of a kind comes first. The same seed gives the same quiz; students with the same code get others.
    """
    left, chosen = random.Random(f"{seed}:{identifier}").sample(pool, len(pool)), list[Question]()
    for kind in [*reversed(KINDS)][: len(pool)]:  # first the kinds with the fewest questions
        used = set[Place | str]().union(*(one.about for one in chosen))
        steps = sorted(one.difficulty for one in left if one.kind == kind) or [0]
        left.sort(key=lambda one: (one.kind != kind, one.difficulty < steps[len(steps) // 2], len(used & one.about)))
        chosen.append(left.pop(0))
    return Quiz(id=identifier, name=name, pool=len(pool), questions=sorted(chosen, key=lambda q: KINDS.index(q.kind)))
