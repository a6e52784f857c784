"""The walk of the documented commands finds what it is for: a wrong status, a traceback, a line that is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.lab import walk as walking
from grader.lab.walk import Step, problem, walk

pytestmark = pytest.mark.process


def says(code: str, status: int = 0, text: str = "") -> Step:
    """A step that runs some Python."""
    return Step((sys.executable, "-c", code), status, text)


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        (says("print('0 / 100')", text="0 / 100"), ""),
        (says("raise SystemExit(2)", status=2), ""),
        (says("print('why'); raise SystemExit(1)"), "exit status 1, not 0\n    why"),
        (says("print('fine')", status=2), "exit status 0, not 2\n    fine"),
        (says("1 / 0", status=1), "a traceback\n    Traceback"),
        (says("print('other')", text="0 / 100"), "its output lacks '0 / 100'\n    other"),
        (Step(("./gone",)), "cannot be run: No such file or directory"),
    ],
    ids=["as_it_should", "as_refused", "failed", "not_refused", "traceback", "silent", "gone"],
)
def test_the_end_of_a_step_is_compared_with_how_it_should_end(step: Step, wrong: str) -> None:
    found = problem(step)
    assert found.startswith(wrong)
    assert bool(found) == bool(wrong)


def test_a_step_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "LONGEST_S", 0.2)
    assert problem(says("import time; time.sleep(60)")) == "no end within 0.2 s"


def test_the_surroundings_name_no_other_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in walking.NOT_PASSED_ON:
        monkeypatch.setenv(name, "elsewhere")
    assert problem(says(f"import os; assert not {set(walking.NOT_PASSED_ON)!r} & set(os.environ)")) == ""


def test_a_failure_is_shown_and_counted_and_the_rest_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk([says("print('oh'); raise SystemExit(1)"), says("print('fine')")], tmp_path) == 1
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("FAIL")
    assert first.endswith(": exit status 1, not 0")
    assert second == "    oh"
    assert third.startswith("ok")
