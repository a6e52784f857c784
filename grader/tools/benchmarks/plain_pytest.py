"""Baseline (a), as most graders work: for each submission a new process, which imports torch and runs pytest."""

from __future__ import annotations

import sys

import torch

from grader.assignment import ASSIGNMENT
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.results.outcome import Outcome
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.limits import Limits


def main() -> int:
    """Grade the reference once, in this process; the exit status is 0 if it passed."""
    torch.set_num_threads(1)
    rubric = ASSIGNMENT.rubric
    tests = HiddenTests(ASSIGNMENT, ("cpu",), 0, rubric.properties)
    results = tests.run(Student(ASSIGNMENT.solution(), InProcessWorker, rubric, Limits()))
    return int(any(result.outcome not in (Outcome.PASSED, Outcome.NOT_ASSESSED) for result in results))


if __name__ == "__main__":
    sys.exit(main())
