"""``python -m tests.practice``, behind ``make practice``: run your tests on correct and wrong implementations.

``implementations.py`` holds these as functions, ``right_1``, ``wrong_1`` and so on. The docstring of a wrong one is the
question, in English and Chinese, that students see while no test catches it.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from ..harness.rubric import MINE, ROOT
from ..harness.shared import source_rules
from ..harness.shared.trial import MOST_S, MOST_TESTS, Runs, described, names, outcome
from ..harness.student import apart
from ..harness.terminal import LANGUAGES, Language, block, columns, end_with, painter, parser, say
from . import implementations

TEST_S = 10.0  # one test, or the import of the file
START_S = 120.0  # to start Python and import torch
END = "."  # in place of a test's name: all have run
GOOD, BAD = ("✓", "green"), ("✗", "red")
IMPLEMENTATIONS = {name: one for name, one in vars(implementations).items() if name.startswith(("right_", "wrong_"))}
RIGHT = [name for name in IMPLEMENTATIONS if name.startswith("right_")]
QUESTIONS = {  # from each wrong implementation to what is asked, by language, while no test catches it
    name: dict(zip(LANGUAGES, (inspect.getdoc(one) or "").split("\n\n"), strict=True))
    for name, one in IMPLEMENTATIONS.items()
    if name not in RIGHT
}


def main() -> int:
    """Print what the tests catch; returns 1 if some of them do not count, and 0 also while there is more to catch."""
    options = parser("tests.practice", __doc__)
    options.add_argument("--seconds", type=float, default=TEST_S, help="time limit for one test")
    arguments = options.parse_args()
    runs = run(arguments.seconds)
    print("\n".join(_Page(runs, arguments.lang).lines()))
    return 1 if runs.broken or runs.refused(RIGHT) else 0


def run(seconds: float) -> Runs:
    """Run all tests on all implementations; a test that stops a process is left out of the next."""
    if not MINE.is_file():
        return Runs(broken={"type": "missing"})
    try:
        source_rules.decoded(MINE.read_bytes())
    except source_rules.Refused as refusal:  # Python may read it; the grader would not
        return Runs(broken={"type": "refused", "code": refusal.code, "fields": refusal.fields})
    runs = Runs()
    while True:
        doing, how = "", "ended"
        try:
            for doing, latest in apart(_serve, runs, start_s=START_S, next_s=seconds):
                runs = latest
                if doing == END:
                    return runs
        except TimeoutError:
            how = "endless"
        if not doing:
            return Runs(broken={"type": how})
        runs.stopped[doing] = how


def _serve(tell: Callable[[tuple[str, Runs]], None], runs: Runs) -> None:
    """Run the remaining tests in a separate process; before and after each, tell its name or none, and the outcomes."""
    torch.set_num_threads(1)
    for name, implementation in IMPLEMENTATIONS.items():
        tell(("", runs))
        try:
            module = ModuleType("practice")  # anew, so that nothing is left of another implementation
            exec(compile(MINE.read_bytes(), str(MINE), "exec"), vars(module))
        except BaseException as error:
            runs.broken = described(error, str(MINE))
            break
        runs.tests = names(module)
        began = time.process_time()
        for test, arguments in runs.tests.items():
            if arguments == 1 and test not in runs.stopped and (name, test) not in runs.outcomes:
                tell((test, runs))
                runs.outcomes[name, test] = outcome(getattr(module, test), implementation)
                tell(("", runs))
        runs.spent_s = max(runs.spent_s, time.process_time() - began)
    tell((END, runs))


# ── Telling ──


class _Page:
    """What the tests catch, for a terminal of 40 columns or more."""

    def __init__(self, runs: Runs, language: Language) -> None:
        self._runs, self._language, self._paint, self._columns = runs, language, painter(), columns()
        self._file = MINE.relative_to(ROOT).as_posix()
        self._refused = runs.refused(RIGHT)
        self._caught = runs.catching(RIGHT, QUESTIONS)

    def lines(self) -> Iterator[str]:
        """The page, line by line."""
        yield self._paint(self._say("title", function=implementations.FUNCTION), "bold")
        yield ""
        yield from self._unusable() if self._runs.broken or not self._runs.tests else self._results()

    def _say(self, key: str, **fields: object) -> str:
        return say(self._language, key, "practice", **fields)

    def _told(self, text: str, indent: int = 6, label: str = "") -> list[str]:
        return block(label, text, indent=indent, columns=self._columns)

    def _marked(self, mark: tuple[str, str], text: str) -> list[str]:
        return self._told(text, 4, f"  {self._paint(*mark)}")

    def _unusable(self) -> Iterator[str]:
        """Why nothing could be run."""
        problem = self._runs.broken or {"type": "no_tests"}
        if problem["type"] == "refused":
            why = say(self._language, f"source_{problem['code']}", **problem["fields"])
            yield from self._marked(BAD, f"{self._file} {why}")
            return
        has_words = problem["type"] in ("missing", "no_tests", "endless", "ended")
        key = f"file_{problem['type']}" if has_words else "file_broken"
        yield from self._marked(BAD, self._say(key, file=self._file, why=self._why(problem)))

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
        for name in RIGHT:
            refusing = tuple(test for test in self._runs.tests if self._runs.outcomes.get((name, test)))
            text = self._say("refused_by", tests=refusing) if refusing else self._say("passes")
            yield from self._marked(BAD if refusing else GOOD, f"{name}  {text}")
        yield ""

    def _wrong(self) -> Iterator[str]:
        yield self._say("wrong")
        for name, tests in self._caught.items():
            text = self._say("caught", tests=tuple(tests)) if tests else self._say("survives")
            yield from self._marked(GOOD if tests else BAD, f"{name}  {text}")
            if not tests:
                yield from self._told(QUESTIONS[name][self._language])
        yield ""

    def _refusal(self, test: str, why: str) -> Iterator[str]:
        """Why a test does not count, with the line that failed."""
        if why in ("arguments", "endless", "ended"):
            arguments = self._runs.tests[test]
            yield from self._marked(BAD, f"{test}: {self._say(f'test_{why}', arguments=arguments)}")
            return
        failure = self._runs.outcomes[why, test] or {}
        yield from self._marked(BAD, f"{test}: {self._say('test_refuses', name=why)}")
        yield from self._told(self._why(failure))
        yield from self._told(linecache.getline(str(MINE), failure["line"]).strip(), 8)
        if printed := failure["printed"].strip():
            yield from self._told(self._say("printed", text=printed))


if __name__ == "__main__":
    # By its full name, which a new Python can import where there is no fork.
    end_with(importlib.import_module("tests.practice.__main__").main)
