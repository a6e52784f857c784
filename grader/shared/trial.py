"""Runs a file of tests on an implementation, says of each test whether it passes, and what the tests are worth.

Only tests count that pass on every right implementation, as in mutation testing. Uses Python's standard library alone:
the grader gives the text of this file to a locked worker.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import random
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

MOST_TESTS = 50
MOST_S = 3  # of computing for all tests on one implementation; the grader is a little more patient
MOST_TEXT = 300  # characters of a message, and of what a test prints


def names(module: ModuleType) -> dict[str, int]:
    """The tests of a file in their order, and how many arguments each takes; one argument is right."""
    called = {name: value for name, value in vars(module).items() if name.startswith("test")}
    found = [(name, value) for name, value in called.items() if isinstance(value, FunctionType)]
    return {name: len(inspect.signature(test).parameters) for name, test in found[:MOST_TESTS]}


def outcome(test: Callable[[Any], object], implementation: object) -> dict[str, Any] | None:
    """What a test says against an implementation: None, or what it raised, and where."""
    printed = io.StringIO()
    random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    try:
        with contextlib.redirect_stdout(printed):
            test(implementation)
    except BaseException as error:  # SystemExit and KeyboardInterrupt, too
        return described(error, test.__code__.co_filename) | {"printed": printed.getvalue()[:MOST_TEXT]}
    return None


def said(error: BaseException) -> str:
    """The message of an exception, without the path that a failed import ends with: it lies on this machine."""
    try:
        path = f" ({error.path})" if isinstance(error, ImportError) else ""
        return str.removesuffix(str(error), path)  # no method of the student's: __str__ may return a subclass
    except BaseException:  # a class of the student's own may do anything
        return ""


def described(error: BaseException, file: str) -> dict[str, Any]:
    """An exception as a type, a short message, and the last line in ``file`` that led to it, 0 if there is none."""
    message = " ".join(said(error).split())[:MOST_TEXT]
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((str(error.filename), error.lineno or 0))
    lines = [line for name, line in frames if name == file]
    return {"type": type(error).__name__, "message": message, "line": lines[-1] if lines else 0}


# ── What the tests are worth ──

Failure = Mapping[str, Any] | None  # what a test raised; None if it passed


@dataclass
class Runs:
    """What came of running a file of tests.

    Attributes:
        broken: Why the file could not be used: what its import raised, or ``{"type": "endless"}``; None if it could be.
        tests: How many arguments each test takes.
        stopped: Tests that did not come to an end: ``endless``, or ``ended`` the whole process.
        outcomes: By implementation and test.
        spent_s: Seconds of computing on the implementation that took most.
    """

    broken: Mapping[str, Any] | None = None
    tests: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], Failure] = field(default_factory=dict)
    spent_s: float = 0.0

    def refused(self, right: Collection[str]) -> dict[str, str]:
        """From each test that does not count to why: a state, or the right implementation that it refuses."""
        found = {test: "arguments" for test, arguments in self.tests.items() if arguments != 1} | self.stopped
        for test in self.tests:
            refusing = [name for name in right if self.outcomes.get((name, test))]
            if test not in found and refusing:
                found[test] = refusing[0]
        return {test: found[test] for test in self.tests if test in found}

    def catching(self, right: Collection[str], wrong: Collection[str]) -> dict[str, list[str]]:
        """From each wrong implementation to the tests that count and fail on it."""
        refused = self.refused(right)
        counting = [test for test in self.tests if test not in refused]
        return {name: [test for test in counting if self.outcomes.get((name, test))] for name in wrong}
