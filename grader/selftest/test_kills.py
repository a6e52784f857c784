"""Whatever command is killed, and at whichever write: no decision is lost, and the next command works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader import REPOSITORY
from grader import __main__ as cli
from grader.core.grades.model import FILE
from grader.core.intake.origin import Origin, Student
from grader.core.results.outcome import Outcome
from grader.core.results.written import note
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import graded
from grader.selftest.reports import write_class
from grader.selftest.submissions import write_folder

BY_HAND = """
[[decision]]
student = "bo"
excuse = true
who = "lee"
when = 2026-10-05T10:00:00+08:00
why = "ill"
"""
REASON = ("--why", "Fair.", "--who", "kim")
COMMANDS = {
    "decide": (
        2,
        ("decide", "WORK/out", "ada", "--override", "swiglu_gate", "--points", "3", "--late-days", "1", *REASON),
    ),
    "appeal": (1, ("appeal", "WORK/out", "ada", "--write", "--who", "kim", "--lang", "en")),
    "report": (0, ("report", "WORK/out", "--lang", "en")),
    "anonymous": (0, ("report", "WORK/out", "--anonymous", "--lang", "en")),
    "export": (0, ("export", "WORK/out", "--to", "csv", "--accept-drops")),
    "return": (0, ("return", "WORK/out", "--to", "mail", "--accept-blanks", "--accept-drops")),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two students, one decision in the ledger already, and one that was written by hand since."""
    people = {name: Origin(source="canvas", students=(Student(id=name, name=name.title(), email=f"{name}@x.org"),))
              for name in ("ada", "bo")}  # fmt: skip
    pristine = tmp_path / "pristine"
    reports = [
        graded("ada", {"attention_causal": Outcome.FAILED}, origin=people["ada"]),
        graded("bo", origin=people["bo"]),
    ]
    pristine.mkdir()
    out = write_class(pristine / "out", *reports)
    for name in people:
        write_folder(pristine / "class" / name, ASSIGNMENT.solution())
    note(out, [pristine / "class"], None, None)
    for command in (("decide", str(out), "ada", "--comment", "See me.", "--who", "kim"), ("report", str(out))):
        assert CliRunner().invoke(cli.app, [*command]).exit_code == 0
    with (out / FILE).open("a") as file:
        file.write(BY_HAND)
    return tmp_path


@pytest.mark.process
@pytest.mark.slow
def test_a_kill_at_any_write_loses_no_decision(folder: Path) -> None:
    arguments = [sys.executable, "-W", "ignore", "-m", "grader.selftest.killed", str(folder), json.dumps(COMMANDS)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.keys() == COMMANDS.keys()
    for name, (new, _) in COMMANDS.items():
        kills, written = told[name]["kills"], told[name]["written"]
        assert kills >= 3, name  # so many places to be killed at
        assert (2 <= written <= kills) if new else not written, name  # some before the decision was safe, some after
