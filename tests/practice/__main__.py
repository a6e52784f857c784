"""``python -m tests.practice``, behind ``make practice``: run your tests on correct and wrong implementations.

``implementations.py`` holds these as functions, ``right_1``, ``wrong_1`` and so on. The docstring of a wrong one is the
question, in English and Chinese, that students see while no test catches it.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from ..harness.rubric import MINE, ROOT
from ..harness.shared import source_rules
from ..harness.shared.trial import MOST_S, MOST_TESTS, Runs, described, names, outcome
from ..harness.student import apart
from ..harness.terminal import LANGUAGES, Language, end_with, language_of, painter, say, wrap
from . import implementations

TEST_S = 10.0  # one test, or the import of the file
START_S = 120.0  # to start Python and import torch
NARROWEST, WIDEST = 40, 96
RIGHT, WRONG = ("✓", "green"), ("✗", "red")


class Exercise:
    """The function to test, and its implementations.

    Attributes:
        function: Its name, which is also what a test calls its argument.
        implementations: All of them by name.
        right: Names of right implementations.
        questions: From the name of each wrong implementation to what is asked while no test catches it.
    """

    def __init__(self) -> None:
        """Sort the implementations."""
        found = vars(implementations)
        self.function: str = found["FUNCTION"]
        self.implementations = {name: found[name] for name in found if name.startswith(("right_", "wrong_"))}
        self.right = [name for name in self.implementations if name.startswith("right_")]
        wrong = {name: inspect.getdoc(found[name]) or "" for name in self.implementations if name not in self.right}
        self.questions = {name: dict(zip(LANGUAGES, asked.split("\n\n"), strict=True)) for name, asked in wrong.items()}


def main() -> int:
    """Print what the tests catch; returns 1 if some of them do not count, and 0 also while there is more to catch."""
    parser = argparse.ArgumentParser(prog="python -m tests.practice", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=TEST_S, help="time limit for one test")
    parser.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    arguments = parser.parse_args()
    exercise, runs = Exercise(), run(arguments.seconds)
    print("\n".join(_Page(exercise, runs, arguments.lang).lines()))
    return 1 if runs.broken or runs.refused(exercise.right) else 0


def run(seconds: float) -> Runs:
    """Run all tests on all implementations; a test that stops a process is left out of the next."""
    runs = Runs()
    if not MINE.is_file():
        runs.broken = {"type": "missing"}
        return runs
    try:
        source_rules.decoded(MINE.read_bytes())
    except source_rules.Refused as refusal:  # Python may read it; the grader would not
        runs.broken = {"type": "refused", "code": refusal.code, "fields": refusal.fields}
        return runs
    while True:
        doing = None  # the test that runs
        try:
            for message in apart(_serve, runs, start_s=START_S, next_s=seconds):
                match message:
                    case {"broken": problem}:
                        runs.broken = problem
                        return runs
                    case {"tests": tests}:
                        runs.tests = tests
                    case {"begin": test}:
                        doing = test
                    case {"implementation": name, "test": test, "failure": failure}:
                        runs.outcomes[name, test] = failure
                        doing = None
                    case {"spent_s": spent_s}:
                        runs.spent_s = max(runs.spent_s, spent_s)
                    case {"end": _}:
                        return runs
            how = "ended"
        except TimeoutError:
            how = "endless"
        if doing is None:
            runs.broken = {"type": how}
            return runs
        runs.stopped[doing] = how


def _serve(tell: Callable[[Mapping[str, Any]], None], known: Runs) -> None:
    """Run what is still to run, in a process of its own, and tell before and after each test."""
    torch.set_num_threads(1)
    for name, implementation in Exercise().implementations.items():
        tell({"importing": name})
        try:
            module = ModuleType("practice")  # anew, so that nothing is left of another implementation
            exec(compile(MINE.read_bytes(), str(MINE), "exec"), vars(module))
        except BaseException as error:
            tell({"broken": described(error, str(MINE))})
            return
        tests = names(module)
        tell({"tests": tests})
        began = time.process_time()
        for test, arguments in tests.items():
            if arguments == 1 and test not in known.stopped and (name, test) not in known.outcomes:
                tell({"begin": test})
                failure = outcome(getattr(module, test), implementation)
                tell({"implementation": name, "test": test, "failure": failure})
        tell({"spent_s": time.process_time() - began})
    tell({"end": True})


# ── Telling ──


class _Page:
    """What the tests catch, for a terminal of 40 columns or more."""

    def __init__(self, exercise: Exercise, runs: Runs, language: Language) -> None:
        self._exercise, self._runs, self._language, self._paint = exercise, runs, language, painter()
        self._columns = min(max(shutil.get_terminal_size().columns - 1, NARROWEST), WIDEST)
        self._file = MINE.relative_to(ROOT).as_posix()
        self._refused = runs.refused(exercise.right)
        self._caught = runs.catching(exercise.right, exercise.questions)

    def lines(self) -> Iterator[str]:
        """The page, line by line."""
        yield self._paint(self._say("title", function=self._exercise.function), "bold")
        yield ""
        yield from self._unusable() if self._runs.broken or not self._runs.tests else self._results()

    def _say(self, key: str, **fields: object) -> str:
        return say(self._language, key, "practice", **fields)

    def _told(self, text: str, indent: int = 6) -> Iterator[str]:
        yield from (" " * indent + line for line in wrap(text, self._columns - indent))

    def _marked(self, mark: tuple[str, str], text: str) -> Iterator[str]:
        first, *rest = self._told(text, 4)
        yield f"  {self._paint(*mark)} {first[4:]}"
        yield from rest

    def _unusable(self) -> Iterator[str]:
        """Why nothing could be run."""
        problem = self._runs.broken or {"type": "no_tests"}
        if problem["type"] == "refused":
            why = say(self._language, f"source_{problem['code']}", **problem["fields"])
            yield from self._marked(WRONG, f"{self._file} {why}")
            return
        has_words = problem["type"] in ("missing", "no_tests", "endless", "ended")
        key = f"file_{problem['type']}" if has_words else "file_broken"
        yield from self._marked(WRONG, self._say(key, file=self._file, why=self._why(problem)))

    def _why(self, failure: Mapping[str, Any]) -> str:
        place = f"{self._file}:{failure['line']}: " if failure.get("line") else ""
        return f"{place}{failure['type']}{': ' * bool(failure.get('message'))}{failure.get('message', '')}"

    def _results(self) -> Iterator[str]:
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
        yield from self._told(self._say("all_caught" if done else "others", file=self._file), 0)

    def _right(self) -> Iterator[str]:
        yield self._say("right")
        for name in self._exercise.right:
            refusing = tuple(test for test in self._runs.tests if self._runs.outcomes.get((name, test)))
            text = self._say("refused_by", tests=refusing) if refusing else self._say("passes")
            yield from self._marked(WRONG if refusing else RIGHT, f"{name}  {text}")
        yield ""

    def _wrong(self) -> Iterator[str]:
        yield self._say("wrong")
        for name, tests in self._caught.items():
            text = self._say("caught", tests=tuple(tests)) if tests else self._say("survives")
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
        source = MINE.read_text(encoding="utf-8", errors="replace").split("\n")
        return source[line - 1].strip() if 0 < line <= len(source) else ""


if __name__ == "__main__":
    # By its full name, which a new Python can import where there is no fork.
    end_with(importlib.import_module("tests.practice.__main__").main)
