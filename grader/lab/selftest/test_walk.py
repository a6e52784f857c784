"""The walk of the documented commands finds what it is for: a wrong status, a traceback, a line that is missing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.selftest.submissions import write_folder

pytestmark = pytest.mark.process


def walked(folder: Path, made: str, run: str) -> subprocess.CompletedProcess[str]:
    """The walk with a ``make`` that is these lines of shell; the Python of its environments is those of ``run``."""
    place = "for word; do case $word in VENV=*) VENV=${word#*=};; esac; done; mkdir -p $VENV/bin"
    make = f"#!/bin/bash\n{place}; cp {folder}/python $VENV/bin\n{made}\n"
    write_folder(folder, {"make": make, "python": f"#!/bin/sh\n{run}\n"})
    for name in ("make", "python"):
        (folder / name).chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS"):
        surroundings[name] = "elsewhere"
    command = [REPOSITORY / ".ci" / "walk"]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("made", "run", "wrong"),
    [
        ("echo 0 / 100; [ $1 = test ]", "echo 0 / 100", {"make setup": "exit status 1, not 0"}),
        ("[ $1 = test ]", "echo 0 / 100", {"make setup": "", "make test": "its output lacks '0 / 100'"}),
        ("[ $1 = test ] && echo 0 / 100", "echo 0 / 100; exit 3", {"make setup": "", "python": "exit status 3, not 0"}),
        (
            "[ $1 = test ] && echo 0 / 100",
            "echo '0 / 100 Traceback (most recent call last):'",
            {"make setup": "", "python": "a traceback"},
        ),
        (
            "echo 0 / 100; [ $1 = test ] && [ -z $VIRTUAL_ENV$PYTHONPATH$MAKEFLAGS ]",
            "echo 0 / 100",
            {"make setup": "exit status 1, not 0"},
        ),
    ],
    ids=["failed", "silent", "status", "traceback", "surroundings"],
)
def test_each_step_that_fails_is_shown_and_counted_and_the_rest_is_tried(
    made: str, run: str, wrong: dict[str, str], tmp_path: Path
) -> None:
    done = walked(tmp_path, made, run)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert done.returncode == 1
    assert len(failed) == len(wrong), done.stdout
    assert all(any(command in line and line.endswith(why) for line in failed) for command, why in wrong.items())
    assert sum(line.startswith("ok") for line in done.stdout.splitlines()) == 3 - len(wrong)
    assert f"{len(wrong)} failed;" in done.stdout
    assert not [*tmp_path.glob("walk-*")]
