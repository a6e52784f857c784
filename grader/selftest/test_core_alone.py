"""The core grades a class, shows it, writes its pages and exports it, with all that stands beside it deleted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import write_folder

pytestmark = pytest.mark.process

CORE = ["grade", "show", "report", "export"]
WORKS = (
    ("grade", "class", "--out", "out", "--jobs", "1"),
    ("show", "out"),
    ("show", "out", "ada"),
    ("report", "out"),
    ("export", "out", "--to", "csv"),
)
REFUSED = {
    ("grade", "class", "--out", "out", "--dry-run"): "grader/extras/diff",
    ("grade", "class", "--out", "again", "--executor", "slurm"): "grader/extras/cluster",
    ("report", "out", "--anonymous"): "grader/extras/anonymous",
    ("grade", "class", "--out", "out", "--notebooks", "checks.csv"): "grader/extras/notebook_points",
}
# Without what an editable installation adds, which would find the deleted folders in the repository.
START = """
import json, os, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in str(finder).casefold()]
sys.path[:] = [os.getcwd(), *filter(None, sys.path)]
from typer.testing import CliRunner
from grader.__main__ import app
from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import choose
choose(ASSIGNMENT)
ended = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[own.exit_code, own.stdout, own.stderr] for own in ended]))
"""


Ended = dict[tuple[str, ...], subprocess.CompletedProcess[str]]  # by command


def run(course: Path, *commands: tuple[str, ...]) -> Ended:
    """How each of these commands of that copy ends, one after the other in a process of its own."""
    arguments = [sys.executable, "-W", "ignore", "-c", START, json.dumps(commands)]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "200"}
    done = subprocess.run(arguments, cwd=course, env=environment, stdout=subprocess.PIPE, text=True, timeout=300)
    ended = json.loads(done.stdout)
    return {words: subprocess.CompletedProcess(words, *how) for words, how in zip(commands, ended, strict=True)}


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
    write_folder(folder / "class" / "cy", dict.fromkeys(ASSIGNMENT.stubs(), "raise ValueError"))
    return folder


@pytest.fixture(scope="module")
def ended(course: Path) -> Ended:
    return run(course, ("--help",), *WORKS, *REFUSED)


def test_only_the_commands_of_the_core_are_there(ended: Ended) -> None:
    told = ended[("--help",)].stdout
    assert [name for name in (*CORE, "doctor", "decide", "verify", "similar") if f" {name} " in told] == CORE


def test_a_class_is_graded_shown_and_exported(course: Path, ended: Ended) -> None:
    assert [ended[words] for words in WORKS if ended[words].returncode] == []
    assert "ada" in (course / "out" / "grades.csv").read_text(encoding="utf-8")
    assert (course / "out" / "html" / "students" / "bo.html").is_file()


def test_no_command_is_named_that_was_deleted(course: Path, ended: Ended) -> None:
    assert json.loads((course / "out" / "summary.json").read_bytes())["attention"], "some need a review"
    said = "".join(ended[words].stdout + ended[words].stderr for words in WORKS)
    assert {*re.findall(r"grader ([a-z]+)", said)} == {"export"}


@pytest.mark.parametrize("words", REFUSED, ids=REFUSED.values())
def test_what_an_extra_would_do_is_refused_in_one_line(ended: Ended, words: tuple[str, ...]) -> None:
    assert (ended[words].returncode, len(ended[words].stderr.splitlines())) == (2, 1)
    assert REFUSED[words] in ended[words].stderr


@pytest.mark.usefixtures("ended")
def test_decisions_that_nobody_can_read_are_not_passed_over(course: Path) -> None:
    (course / "out" / "decisions.toml").touch()
    (only,) = run(course, ("export", "out", "--to", "csv")).values()
    assert (only.returncode, len(only.stderr.splitlines())) == (2, 1)
    assert "grader/extras/decisions" in only.stderr
