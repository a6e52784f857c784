"""Words what a student's tests catch, for a terminal of 60 columns or more."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from .. import messages
from ..messages import Language
from ..student import ROOT
from ..terminal import Painter, wrap
from .exercise import Exercise
from .trial import MOST_S, MOST_TESTS
from .verdict import Runs
from .words import say

NARROWEST, WIDEST = 40, 96
RIGHT, WRONG = ("✓", "green"), ("✗", "red")


def lines(exercise: Exercise, runs: Runs, language: Language, paint: Painter) -> Iterator[str]:
    """The page, line by line."""
    page = _Page(exercise, runs, language, paint)
    yield page.title()
    yield ""
    yield from page.unusable() if runs.broken or not runs.tests else page.results()


class _Page:
    def __init__(self, exercise: Exercise, runs: Runs, language: Language, paint: Painter) -> None:
        self._exercise, self._runs, self._language, self._paint = exercise, runs, language, paint
        self._columns = min(max(shutil.get_terminal_size().columns - 1, NARROWEST), WIDEST)
        self._file = exercise.file.relative_to(ROOT).as_posix()
        self._refused = runs.refused(exercise.right)
        self._caught = runs.catching(exercise.right, exercise.questions)

    def _say(self, key: str, **fields: object) -> str:
        return say(self._language, key, **fields)

    def _told(self, text: str, indent: int = 6) -> Iterator[str]:
        yield from (" " * indent + line for line in wrap(text, self._columns - indent))

    def _marked(self, mark: tuple[str, str], text: str) -> Iterator[str]:
        first, *rest = self._told(text, 4)
        yield f"  {self._paint(*mark)} {first[4:]}"
        yield from rest

    def title(self) -> str:
        return self._paint(self._say("title", function=self._exercise.function), "bold")

    def unusable(self) -> Iterator[str]:
        """Why nothing could be run."""
        problem = self._runs.broken or {"type": "no_tests"}
        if problem["type"] == "refused":
            why = messages.say(self._language, f"source_{problem['code']}", **problem["fields"])
            yield from self._marked(WRONG, f"{self._file} {why}")
            return
        own = problem["type"] in ("missing", "no_tests", "endless", "ended")
        key = f"file_{problem['type']}" if own else "file_broken"
        yield from self._marked(WRONG, self._say(key, file=self._file, why=self._why(problem)))

    def _why(self, failure: Mapping[str, Any]) -> str:
        place = f"{self._file}:{failure['line']}: " if failure.get("line") else ""
        return f"{place}{failure['type']}{': ' * bool(failure.get('message'))}{failure.get('message', '')}"

    def results(self) -> Iterator[str]:
        """What each implementation came to, the score, and each test that does not count."""
        yield from self._right()
        yield from self._wrong()
        caught, all_ = sum(map(bool, self._caught.values())), len(self._caught)
        yield self._paint(self._say("score", caught=caught, all=all_), "bold")
        if len(self._runs.tests) >= MOST_TESTS:
            yield from self._told(self._say("most_tests", most=MOST_TESTS), 0)
        if self._runs.spent_s > MOST_S:
            yield from self._told(self._say("slow", spent=self._runs.spent_s, most=MOST_S), 0)
        if self._refused:
            yield ""
            yield self._say("to_correct")
            for test, why in self._refused.items():
                yield from self._refusal(test, why)
        yield ""
        done = caught == all_ and not self._refused
        yield from self._told(self._say("all_caught" if done else "others"), 0)

    def _right(self) -> Iterator[str]:
        yield self._say("right")
        for name in self._exercise.right:
            refusing = [test for test in self._runs.tests if self._runs.outcomes.get((name, test))]
            text = self._say("refused_by", tests=", ".join(refusing)) if refusing else self._say("passes")
            yield from self._marked(WRONG if refusing else RIGHT, f"{name}  {text}")
        yield ""

    def _wrong(self) -> Iterator[str]:
        yield self._say("wrong")
        for name, tests in self._caught.items():
            text = self._say("caught", tests=", ".join(tests)) if tests else self._say("survives")
            yield from self._marked(RIGHT if tests else WRONG, f"{name}  {text}")
            if not tests:
                yield from self._told(self._exercise.questions[name][self._language])
        yield ""

    def _refusal(self, test: str, why: str) -> Iterator[str]:
        """Why a test does not count, with the line that failed."""
        if why in ("arguments", "endless", "ended"):
            arguments = self._runs.tests[test]
            yield from self._marked(WRONG, f"{test}: {self._say(f'test_{why}', arguments=arguments)}")
            return
        failure = self._runs.outcomes[why, test] or {}
        yield from self._marked(WRONG, f"{test}: {self._say('test_refuses', name=why)}")
        yield from self._told(self._why(failure))
        yield from self._told(self._source(failure["line"]), 8)
        if printed := failure["printed"].strip():
            yield from self._told(self._say("printed", text=printed))

    def _source(self, line: int) -> str:
        source = self._exercise.file.read_text(encoding="utf-8", errors="replace").splitlines()
        return source[line - 1].strip() if 0 < line <= len(source) else ""
