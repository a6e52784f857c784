"""The points and feedback for a student's tests, and the files for the whole class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.core.export.table import number, written
from grader.core.messages import Sentences
from grader.core.rubric import LANGUAGES
from grader.shared.trial import Runs
from grader.specimens.practice import Practice

COLUMNS = ("id", "student", "points", "max_points", "caught", "wrong", "tests", "counted", "remark")
NOBODYS_FAULT = "grader_error"
WORDS = Sentences(Path(__file__).with_name("words.toml"))


def say(language: str, key: str, **fields: object) -> str:
    """The sentence ``key``, or that for a failed import, with its ``fields`` filled in."""
    return WORDS(language, key if key in WORDS.texts else "not_imported", **fields)


@dataclass(frozen=True)
class Result:
    """The result of one student.

    Attributes:
        id: The submission's id.
        students: The authors' names, if known.
        runs: The outcomes of the tests.
        reason: For the assistant, why the file could not be read; empty if it was read or not submitted.
    """

    id: str
    students: Sequence[str]
    runs: Runs
    practice: Practice
    reason: str = ""

    @property
    def problem(self) -> str:
        """Why the file could not be used, such as ``missing``; empty if it could."""
        return str(self.runs.broken["type"]) if self.runs.broken else "" if self.runs.tests else "no_tests"

    @property
    def refused(self) -> Mapping[str, str]:
        """Why each uncounted test does not count: a state, or ``right``."""
        known = self.runs.refused(self.practice.right)
        return {test: "right" if why in self.practice.right else why for test, why in known.items()}

    @property
    def catching(self) -> Mapping[str, list[str]]:
        """For each wrong implementation, the tests that catch it."""
        return self.runs.catching(self.practice.right, self.practice.mistakes)

    @property
    def caught(self) -> int:
        """The number of wrong implementations caught."""
        return sum(map(bool, self.catching.values()))

    @property
    def points(self) -> float | None:
        """The points for the share of mistakes caught; None after a grader fault."""
        if self.problem == NOBODYS_FAULT:
            return None
        return round(self.practice.points * self.caught / len(self.practice.mistakes), 2)

    def told(self, language: str) -> str:
        """The result in sentences for the student, without names of implementations."""
        most = number(self.practice.points)
        if self.problem:
            place = self._place((self.runs.broken or {}).get("line"))
            return say(language, self.problem, place=place, file=self.practice.file, type=self.problem)
        all_ = len(self.practice.mistakes)
        sentences = [say(language, "caught", caught=self.caught, all=all_, points=number(self.points), most=most)]
        for test, why in self.refused.items():
            failures = (self.runs.outcomes.get((name, test)) for name in self.practice.right)
            place = self._place(next((failure["line"] for failure in failures if failure), 0))
            sentences.append(say(language, f"test_{why}", test=test, place=place, arguments=self.runs.tests[test]))
        return say(language, "space").join(sentences)

    def _place(self, line: object) -> str:
        return f"{self.practice.file}:{line}" if line else self.practice.file


def table(results: Iterable[Result]) -> str:
    """The class as CSV."""
    rows: list[Sequence[str]] = [COLUMNS]
    for result in results:
        counted, wrong = len(result.runs.tests) - len(result.refused), len(result.practice.mistakes)
        numbers = (result.points, result.practice.points, result.caught, wrong, len(result.runs.tests), counted)
        remark = f"{result.told('en')} {result.reason}".rstrip()
        rows.append([result.id, ", ".join(result.students), *map(number, numbers), remark])
    return written(rows)


def document(results: Iterable[Result], practice: Practice, assignment: str) -> dict[str, object]:
    """The class for JSON, with the tests that catch each implementation."""
    listed = [
        {
            "id": result.id,
            "students": list(result.students),
            "points": result.points,
            "problem": result.problem or None,
            "caught": result.catching,
            "refused": result.refused,
            "reason": result.reason,
            "told": {language: result.told(language) for language in LANGUAGES},
        }
        for result in results
    ]
    return {"assignment": assignment, "max_points": practice.points, "submissions": listed}
