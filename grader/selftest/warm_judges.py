"""What the fixtures of all self-tests are made of: the hidden tests of an assignment, collected once for each task."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from grader.core.assignment import Assignment
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results.outcome import CaseResult
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits

RunHiddenTests = Callable[..., list[CaseResult]]


def hidden_tests_of(assignment: Assignment, devices: Sequence[str] = ("cpu",), seed: int = 0) -> RunHiddenTests:
    """``judge(files, task=None)``: the hidden tests on code that is ours, in this process."""
    rubric = assignment.rubric
    collected = cache(lambda task: HiddenTests(assignment, devices, seed, rubric.only(task).properties))

    def judge(files: Mapping[str, str], task: str | None = None) -> list[CaseResult]:
        # pytest's own filters would turn a student's warning into an exception.
        with warnings.catch_warnings(action="ignore"):
            results: list[CaseResult] = run_tests(collected(task), Student(files, InProcessWorker, rubric, Limits()))
            return results

    return judge
