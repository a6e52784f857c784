"""What tests of a whole term share: commands that must end well, a policy, and the tables that come out."""

from __future__ import annotations

import csv
import runpy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader import __main__ as cli
from grader.core.assignment import Assignment
from grader.core.cli import terminal
from grader.core.intake.discover import discover
from grader.core.intake.reading_process import Reader
from grader.core.rubric import load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT


def choose_for(patch: pytest.MonkeyPatch, assignment: Assignment) -> None:
    """Let all commands be about an assignment, for as long as the patch lasts."""
    patch.setattr(terminal, "_chosen", [assignment])


def read_here(patch: pytest.MonkeyPatch) -> None:
    """Let commands read what is handed in, in this process: a reading process for each would take half a second."""
    patch.setattr(Reader, "read", lambda _, candidate: candidate.read())
    patch.setattr(Reader, "discover", lambda _, *given, **named: discover(*given, **named))


def command(*arguments: object) -> Result:
    """A command, however it ends."""
    return CliRunner().invoke(cli.app, [*map(str, arguments)])


def run(*arguments: object) -> Result:
    """A command that must end well."""
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object, code: int = 2) -> str:
    """The one line with which a command refuses, without ``grader: ``."""
    result = command(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (code, "", 1), result.output
    assert result.stderr.startswith("grader: ")
    return result.stderr.strip()


def lab_tool(capsys: pytest.CaptureFixture[str], tool: str, *arguments: str) -> tuple[object, str, str]:
    """The status, output and errors of ``python -m grader.lab.TOOL`` in this process, which it must end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", [tool, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"grader.lab.{tool}", run_name="__main__")
    return ended.value.code, *capsys.readouterr()


def column(path: Path, key: str, value: str) -> dict[str, str]:
    """Two columns of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row[key].rpartition(" ")[2]: row[value] for row in csv.DictReader(file, strict=True)}


def with_policy(
    policy: str, folder: Path, monkeypatch: pytest.MonkeyPatch, points: Mapping[str, str] | None = None
) -> None:
    """The rubric with lines of policy in it, as an assistant would write them, for all commands."""
    text = (ASSIGNMENT.folder / "rubric.toml").read_text(encoding="utf-8")
    text = text.replace("[policy]\n", f"[policy]\n{policy}")
    for old, new in (points or {}).items():
        text = text.replace(old, new)
    (folder / "rubric.toml").write_text(text, encoding="utf-8")
    changed = replace(ASSIGNMENT)
    changed.__dict__["rubric"] = load_rubric(folder / "rubric.toml")
    choose_for(monkeypatch, changed)
