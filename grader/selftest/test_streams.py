"""A command whose streams are closed, or have an encoding without its characters, does its work all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.core.results.written import SUMMARY
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import graded
from grader.selftest.reports import write_class
from grader.selftest.submissions import write_folder

pytestmark = [pytest.mark.process, pytest.mark.slow]

GRADER = (sys.executable, "-W", "ignore", "-m", "grader.selftest.command")


def test_grading_needs_no_open_output(tmp_path: Path) -> None:
    write_folder(tmp_path / "ada", ASSIGNMENT.solution())
    arguments = ("grade", str(tmp_path / "ada"), "--out", str(tmp_path / "out"), "--jobs", "1")
    closed = ("sh", "-c", 'exec "$@" >&-', "sh")
    done = subprocess.run([*closed, *GRADER, *arguments], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / SUMMARY).read_text())
    assert [line["status"] for line in told["submissions"]] == ["graded"]


def test_what_the_terminal_cannot_write_is_replaced(tmp_path: Path) -> None:
    out = write_class(tmp_path / "out", graded("ada"))
    arguments = ("show", str(out), "ada", "--lang", "zh")
    environ = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*GRADER, *arguments], cwd=REPOSITORY, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "?" in done.stdout  # for a title's characters
