"""A task is added by the steps of ``grader/docs/add-a-task.md``: the page's own blocks are written, then it is graded.

For a forgotten step, ``make lint`` prints the file and the remedy, as the page quotes them.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from grader import PACKAGE
from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.results.outcome import Outcome
from grader.core.rubric import RubricError
from grader.lab.missing import missing
from grader.selftest.fixtures import hidden_tests_of
from grader.selftest.warm import WarmPython

pytestmark = pytest.mark.slow  # each test reads a whole copy of the assignment

PAGE = PACKAGE / "docs" / "add-a-task.md"
STEP = re.compile(r"^### (.+): `(.+)`\n(?:.*\n)*?```(\w+)\n((?:.*\n)*?)```\n\nLeft out: `(.+)`$", re.MULTILINE)


class Step(NamedTuple):
    """A file that a task touches, written anew or edited by a ``diff``, and what ``make lint`` prints without it."""

    path: str
    language: str
    block: str
    remedy: str

    def take(self, root: Path) -> None:
        """Write the file."""
        path = root / self.path
        if self.language != "diff":
            path.write_text(self.block, encoding="utf-8")
            return
        lines = self.block.splitlines()
        old, new = ("\n".join(line[1:] for line in lines if line[:1] in marks) for marks in (" -", " +"))
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{self.path}: {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")


STEPS = {name: Step(*rest) for name, *rest in STEP.findall(PAGE.read_text(encoding="utf-8"))}
PARTS = ("src", "ref", "tests", "handout", "grader/assignment")
FILE = "src/modeling/causal_mask.py"


@pytest.fixture
def copied(tmp_path: Path) -> Assignment:
    for part in PARTS:
        shutil.copytree(
            ASSIGNMENT.root / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "selftest")
        )
    for file in ("pyproject.toml", "grader/__init__.py"):
        shutil.copy(ASSIGNMENT.root / file, tmp_path / file)
    return replace(ASSIGNMENT, folder=tmp_path / "grader" / "assignment", root=tmp_path)


def complaints(assignment: Assignment) -> str:
    try:
        return "\n".join(missing(assignment))
    except RubricError as error:
        return str(error)


def test_every_step_of_the_page_is_read() -> None:
    assert len(STEPS) == PAGE.read_text(encoding="utf-8").count("\n### ") == 13


@pytest.mark.parametrize("forgotten", STEPS)
def test_a_step_that_is_forgotten_is_named_with_its_remedy(
    copied: Assignment, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.lab.missing.missing_phrases", lambda _: ())  # reads the whole grader for no step here
    for name, step in STEPS.items():
        if name != forgotten:
            step.take(copied.root)
    assert STEPS[forgotten].remedy in complaints(copied)


def test_a_task_is_whole_after_these_steps_which_change_few_files_beside_its_own(copied: Assignment) -> None:
    for step in STEPS.values():
        step.take(copied.root)
    assert complaints(copied) == ""
    assert sum(step.language == "diff" for step in STEPS.values()) <= 12


def test_the_new_task_is_graded(copied: Assignment, run: WarmPython) -> None:
    for step in STEPS.values():
        step.take(copied.root)
    judge, solution = hidden_tests_of(copied), copied.solution()
    results = {
        "right": judge(solution, "task5"),
        "wrong": judge({**solution, FILE: solution[FILE].replace("tril", "triu")}, "task5"),
        "stub": judge(copied.stubs(), "task5"),
    }
    outcomes = {name: {result.outcome for result in found} for name, found in results.items()}
    assert outcomes == {"right": {Outcome.PASSED}, "wrong": {Outcome.FAILED}, "stub": {Outcome.NOT_IMPLEMENTED}}
    untouched = run(copied.root, "tests", "--task", "5").stdout
    assert "0 / 2" in untouched
    (copied.root / FILE).write_text(solution[FILE], encoding="utf-8")
    assert "2 / 2" in run(copied.root, "tests", "--task", "5").stdout
