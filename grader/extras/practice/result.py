"""The points and feedback for a student's tests, and the files for the whole class."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader import REPOSITORY
from grader.core.export.table import number, written
from grader.core.rubric import LANGUAGES
from grader.core.specimens.practice import Practice

from .words import say

COLUMNS = ("id", "student", "points", "max_points", "caught", "wrong", "tests", "counted", "remark")
NOBODYS_FAULT = "grader_error"
TRIALS = REPOSITORY / "tests" / "harness" / "trials"  # found by its path: an installed grader has no package `tests`


def shared(name: str) -> ModuleType:
    """A module that `make practice` and the grader share."""
    spec = importlib.util.spec_from_file_location(f"{__name__}.{name}", TRIALS / f"{name}.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{TRIALS / name}.py cannot be imported")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from tests.harness.trials.verdict import Runs as Runs
else:
    Runs = shared("verdict").Runs


@dataclass(frozen=True)
class Result:
    """One student's.

    Attributes:
        id: Of the submission.
        students: Names of those who handed it in, where they are known.
        runs: What came of running the tests.
        reason: Why there is no file, for the assistant; empty if there is one, or if it was not handed in.
    """

    id: str
    students: Sequence[str]
    runs: Runs
    practice: Practice
    reason: str = ""

    @property
    def problem(self) -> str:
        """Why the file could not be used, such as ``missing``; empty if it could be."""
        return str(self.runs.broken["type"]) if self.runs.broken else "" if self.runs.tests else "no_tests"

    @property
    def refused(self) -> Mapping[str, str]:
        """From each test that does not count to why: a state, or ``right``."""
        known = self.runs.refused(self.practice.right)
        return {test: "right" if why in self.practice.right else why for test, why in known.items()}

    @property
    def catching(self) -> Mapping[str, list[str]]:
        """From each wrong implementation to the tests that catch it."""
        return self.runs.catching(self.practice.right, self.practice.mistakes)

    @property
    def caught(self) -> int:
        """How many wrong implementations are caught."""
        return sum(map(bool, self.catching.values()))

    @property
    def points(self) -> float | None:
        """The share of the points that is caught; None if the grader is at fault."""
        if self.problem == NOBODYS_FAULT:
            return None
        return round(self.practice.points * self.caught / len(self.practice.mistakes), 2)

    def told(self, language: str) -> str:
        """The result in sentences for the student; no implementation is named."""
        most = number(self.practice.points)
        if self.problem:
            known = self.runs.broken or {}
            place = f"{self.practice.file}:{known.get('line')}" if known.get("line") else self.practice.file
            return say(language, self.problem, place=place, file=self.practice.file, type=self.problem)
        all_ = len(self.practice.mistakes)
        sentences = [say(language, "caught", caught=self.caught, all=all_, points=number(self.points), most=most)]
        for test, why in self.refused.items():
            place = self._place(test)
            sentences.append(say(language, f"test_{why}", test=test, place=place, arguments=self.runs.tests[test]))
        return say(language, "space").join(sentences)

    def _place(self, test: str) -> str:
        failures = (self.runs.outcomes.get((name, test)) for name in self.practice.right)
        line = next((failure["line"] for failure in failures if failure), 0)
        return f"{self.practice.file}:{line}" if line else self.practice.file


def table(results: Iterable[Result]) -> str:
    """The class as CSV."""
    return written([COLUMNS, *map(_row, results)])


def _row(own: Result) -> list[str]:
    counted = len(own.runs.tests) - len(own.refused)
    numbers = (own.points, own.practice.points, own.caught, len(own.practice.mistakes), len(own.runs.tests), counted)
    return [own.id, ", ".join(own.students), *map(number, numbers), f"{own.told('en')} {own.reason}".rstrip()]


def document(results: Iterable[Result], practice: Practice, assignment: str) -> str:
    """The class as JSON, with what caught which implementation."""
    listed: list[dict[str, Any]] = [
        {
            "id": own.id,
            "students": list(own.students),
            "points": own.points,
            "problem": own.problem or None,
            "caught": own.catching,
            "refused": own.refused,
            "reason": own.reason,
            "told": {language: own.told(language) for language in LANGUAGES},
        }
        for own in results
    ]
    whole = {"assignment": assignment, "max_points": practice.points, "submissions": listed}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
