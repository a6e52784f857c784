"""The core grades a class, shows it, writes its pages and exports it, with all that stands beside it deleted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import write_folder

pytestmark = pytest.mark.process

COMMANDS = ["grade", "show", "report", "export"]
# Without what an editable installation adds, which would find the deleted folders in the repository.
START = """
import os, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in str(finder).casefold()]
sys.path[:] = [os.getcwd(), *filter(None, sys.path)]
from grader.__main__ import main
main()
"""


def run(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``grader`` with these arguments, in that copy."""
    command = [sys.executable, "-W", "ignore", "-c", START, *arguments]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "200"}
    return subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the small assignment, and with nothing of the grader but its core and what that needs."""
    folder = tmp_path_factory.mktemp("core")
    grader, small = REPOSITORY / "grader", ASSIGNMENT.root
    ignored = shutil.ignore_patterns("docs", "selftest")
    for name in ("core", "shared"):
        shutil.copytree(grader / name, folder / "grader" / name, ignore=ignored)
    for name in ("__init__.py", "__main__.py", "testing.py"):
        shutil.copy(grader / name, folder / "grader")
    for name in ("src", "ref", "tests", "grader/assignment"):
        shutil.copytree(small / name, folder / name, ignore=ignored)
    for name in ("extras/viva", "lab"):  # what git leaves of a deleted folder, where compiled files were
        (folder / "grader" / name / "__pycache__").mkdir(parents=True)
    write_folder(folder / "class" / "ada", ASSIGNMENT.solution())
    write_folder(folder / "class" / "bo", ASSIGNMENT.stubs())
    return folder


@pytest.fixture(scope="module")
def out(course: Path) -> str:
    """The class graded, by a name in the course."""
    ended = run(course, "grade", "class", "--out", "out", "--jobs", "1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return "out"


def test_only_the_commands_of_the_core_are_there(course: Path) -> None:
    told = run(course, "--help").stdout
    assert [name for name in (*COMMANDS, "doctor", "decide", "verify", "similar") if f" {name} " in told] == COMMANDS


def test_a_class_is_graded_shown_and_exported(course: Path, out: str) -> None:
    for arguments in (("show", out), ("show", out, "ada"), ("report", out), ("export", out, "--to", "csv")):
        ended = run(course, *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    (table,) = (course / "out").glob("*.csv")
    assert "ada" in table.read_text(encoding="utf-8")
    assert (course / "out" / "html" / "students" / "bo.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grade", "class", "--out", "out", "--dry-run"), "grader/extras/diff"),
        (("grade", "class", "--out", "again", "--executor", "slurm"), "grader/extras/cluster"),
        (("report", "out", "--anonymous"), "grader/extras/anonymous"),
        (("grade", "class", "--out", "out", "--notebooks", "checks.csv"), "grader/extras/notebook_points"),
    ],
)
@pytest.mark.usefixtures("out")
def test_what_an_extra_would_do_is_refused_in_one_line(course: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = run(course, *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_decisions_that_nobody_can_read_are_not_passed_over(course: Path, out: str) -> None:
    shutil.copytree(course / out, course / "decided")
    (course / "decided" / "decisions.toml").write_text("", encoding="utf-8")
    ended = run(course, "export", "decided", "--to", "csv")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "grader/extras/decisions" in ended.stderr
