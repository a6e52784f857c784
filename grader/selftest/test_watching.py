"""``make watch``: the tests of what changed run at each save; Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest import some
from grader.selftest.submissions import ATTENTION, SWIGLU, handed_out, write_folder

WAITING = "Watching src/"
harness: Any = import_module("tests.harness.watch")  # untyped, as students are to read it
rubric: Any = import_module("tests.harness.rubric")


class Watching:
    """A running ``python -m tests --watch``, and what it prints."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
        environment.pop("MAKELEVEL", None)  # where make runs these tests; students would read of its targets
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests", "--watch"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, text: str) -> str:
        """What is printed up to the line that begins with a text."""
        printed = ""
        for line in self.process.stdout or ():
            printed += line
            if line.startswith(text):
                return printed
        pytest.fail(f"it ended: {printed}")

    def close(self) -> None:
        """End it, and whatever it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches all processes of a terminal; returns the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait()


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    return write_folder(handed_out(tmp_path / "small"), ASSIGNMENT.solution())


@pytest.fixture(params=some(["fork", "new Python"], 2))
def watching(solved: Path, request: pytest.FixtureRequest) -> Iterator[Watching]:
    """A watch over it, whose runs are forks, or new Pythons, as on macOS and Windows."""
    file, choice = solved / "tests" / "harness" / "student.py", 'sys.platform != "darwin"'
    text = file.read_text(encoding="utf-8")
    assert text.count(choice) == 1
    file.write_text(text.replace(choice, "False") if request.param == "new Python" else text, encoding="utf-8")
    running = Watching(solved)
    yield running
    running.close()


@pytest.mark.process
@pytest.mark.slow
def test_a_save_ends_a_run_that_hangs_and_runs_the_tests_of_its_task(solved: Path, watching: Watching) -> None:
    first = watching.until(WAITING)
    assert "Task 2" in first
    assert "complete. Well done!" in first
    assert "To submit: python -m tests.submit" in first
    text = (solved / SWIGLU).read_text(encoding="utf-8")
    (solved / SWIGLU).write_text(text + "\nraise ValueError('not yet')\n", encoding="utf-8")
    second = watching.until(WAITING)
    assert f"── {SWIGLU} ──" in second
    assert "ValueError: not yet" in second
    assert "Task 1" not in second
    assert "Since the last save\n  - " in second
    (solved / SWIGLU).write_text(text, encoding="utf-8")
    third = watching.until(WAITING)
    assert "Since the last save\n  + " in third
    assert "complete. Well done!" in third
    (solved / SWIGLU).write_text(text + "\nwhile True:\n    pass\n", encoding="utf-8")
    watching.until("──")
    (solved / SWIGLU).write_text(text, encoding="utf-8")
    assert "complete. Well done!" in watching.until(WAITING)
    assert watching.interrupt() == 0


def test_a_file_of_no_task_may_matter_to_all() -> None:
    tasks = rubric.load((ASSIGNMENT.folder / "rubric.toml",)).tasks
    attention, swiglu = (harness.ROOT / path for path in (ATTENTION, SWIGLU))
    assert harness.tasks_of([swiglu], tasks) == [tasks[1]]
    assert harness.tasks_of([swiglu, attention], tasks) == [*tasks]
    assert harness.tasks_of([swiglu, harness.ROOT / "src" / "helper.py"], tasks) == [*tasks]
    assert harness.tasks_of([attention], tasks[1:]) == [tasks[1]]
