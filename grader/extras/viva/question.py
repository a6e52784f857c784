"""What a question is, and how its options are chosen so that no two of them can be confused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

KINDS = ("predict", "shape", "what_if", "find", "why", "growth")
LEAST_WRONG, MOST_WRONG = 3, 4
EASY, MEDIUM = 5, 15  # lines between the line and the effect, at most

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One answer to choose.

    Attributes:
        text: What a student reads.
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
        prompt: The question in words.
        blocks: Code below it.
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
        return len(texts) > LEAST_WRONG and len(set(texts)) == len(texts)


def apart(right: T, candidates: Iterable[T], differ: Callable[[T, T], bool], most: int = MOST_WRONG) -> list[T]:
    """The first candidates that differ from the right answer and from each other."""
    chosen: list[T] = []
    for one in candidates:
        if len(chosen) < most and all(differ(one, other) for other in (right, *chosen)):
            chosen.append(one)
    return chosen
