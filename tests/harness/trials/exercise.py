"""What ``tests/practice`` holds: right and wrong implementations of a function, and a question for each wrong one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..messages import Words
from ..rubric import TESTS

FOLDER = TESTS / "practice"
IMPLEMENTATIONS = FOLDER / "implementations.py"


@dataclass(frozen=True)
class Exercise:
    """The function to test, and its implementations.

    Attributes:
        file: Where the student's tests go.
        right: Names of right implementations, which are functions of ``implementations.py``.
        questions: From the name of each wrong implementation to what is asked while no test catches it.
    """

    function: str
    file: Path
    right: tuple[str, ...]
    questions: Mapping[str, Words]

    @property
    def names(self) -> list[str]:
        """Every implementation, the right ones first."""
        return [*self.right, *self.questions]


def load() -> Exercise:
    """The exercise of this assignment."""
    written = tomllib.loads((FOLDER / "exercise.toml").read_text(encoding="utf-8"))
    return Exercise(written["function"], FOLDER / written["file"], tuple(written["right"]), written["wrong"])


def handed_in() -> list[Path]:
    """What a student hands in for it: one file, or none where there is no exercise."""
    return [path for path in ([load().file] if FOLDER.is_dir() else []) if path.is_file()]
