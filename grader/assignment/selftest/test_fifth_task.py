"""A task is added as CONTRIBUTING says: who forgets a step is told the file and the remedy; then it is graded."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.results.outcome import Outcome
from grader.core.rubric import RubricError
from grader.lab.missing import missing
from grader.selftest.warm import WarmPython
from grader.selftest.warm_judges import hidden_tests_of

from .fifth_task import STEPS, STUB, TODO

pytestmark = pytest.mark.slow  # each test reads a whole copy of the assignment

PARTS = ("src", "ref", "tests", "handout", "grader/assignment")
FILE = "src/modeling/causal_mask.py"


@pytest.fixture
def copied(tmp_path: Path) -> Assignment:
    """This assignment in another place, to be changed there."""
    for part in PARTS:
        shutil.copytree(
            ASSIGNMENT.root / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "selftest")
        )
    for file in ("pyproject.toml", "grader/__init__.py"):
        shutil.copy(ASSIGNMENT.root / file, tmp_path / file)
    return replace(ASSIGNMENT, folder=tmp_path / "grader" / "assignment", root=tmp_path)


def complaints(assignment: Assignment) -> str:
    """What ``python -m grader.lab.missing`` would print there."""
    try:
        return "\n".join(missing(assignment))
    except RubricError as error:
        return str(error)


def test_nothing_is_missing_here() -> None:
    assert complaints(ASSIGNMENT) == ""


@pytest.mark.parametrize("forgotten", STEPS)
def test_a_step_that_is_forgotten_is_named_with_its_remedy(copied: Assignment, forgotten: str) -> None:
    for name, step in STEPS.items():
        if name != forgotten:
            step.take(copied.root)
    assert STEPS[forgotten].remedy in complaints(copied)


def test_a_task_is_whole_after_these_steps_which_change_few_files_beside_its_own(copied: Assignment) -> None:
    for step in STEPS.values():
        step.take(copied.root)
    assert complaints(copied) == ""
    assert sum(not isinstance(step.content, str) for step in STEPS.values()) <= 12


@pytest.mark.process
def test_the_new_task_is_graded(copied: Assignment, run: WarmPython) -> None:
    for step in STEPS.values():
        step.take(copied.root)
    judge, solution = hidden_tests_of(copied), copied.solution()
    results = {
        "right": judge(solution, "task5"),
        "wrong": judge({**solution, FILE: solution[FILE].replace("tril", "triu")}, "task5"),
        "stub": judge(copied.stubs(), "task5"),
    }
    outcomes = {name: {result.outcome for result in own} for name, own in results.items()}
    assert outcomes == {"right": {Outcome.PASSED}, "wrong": {Outcome.FAILED}, "stub": {Outcome.NOT_IMPLEMENTED}}
    untouched = run(copied.root, "tests", "--task", "5").stdout
    assert "0 / 2" in untouched
    (copied.root / FILE).write_text(STUB.replace(TODO, "        return shares.tril()\n"), encoding="utf-8")
    assert "2 / 2" in run(copied.root, "tests", "--task", "5").stdout
