"""What a person sees at a terminal: the moving bar, and the doctor's findings."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from grader.__main__ import app
from grader.core.cli import doctor as examined
from grader.core.cli import show
from grader.core.cli.doctor import Finding
from grader.core.cli.show import print_class, print_report, print_statistics
from grader.core.cli.terminal import ending, track
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.messages import quoted
from grader.core.results.database import LedgerError
from grader.core.results.language import in_language
from grader.core.results.report import Report
from grader.core.results.statistics import class_statistics, entry
from grader.core.run.schedule import GradingFailed
from grader.core.sandbox import started as starting
from grader.core.sandbox.limits import LAYERS
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.term import refused

pytestmark = pytest.mark.process


def test_the_bar_says_what_is_done_what_runs_and_what_failed(grader: Judge) -> None:
    unreadable = grader.grade(Submission("nobody", reason=quoted("there is nothing")))
    graded = grader.grade(Submission("ada", ASSIGNMENT.solution()))
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)

    def reports() -> Iterator[Report]:
        yield graded
        yield unreadable

    assert list(track(reports(), 3, 2, screen)) == [graded, unreadable]
    shown = screen.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    for part in ("grading with 2 jobs", "2/3", "1 running", "1 not graded"):
        assert part in shown


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_the_terminal(grader: Judge, language: str) -> None:
    files = ASSIGNMENT.solution()
    path = "src/attention.py"
    files[path] = files[path].replace("def forward(", "def forwards(", 1)
    report = in_language(grader.grade(Submission("a name of some length", files)), ASSIGNMENT, language)
    screen = Console(file=io.StringIO(), force_terminal=True, width=60)
    print_report(report, ASSIGNMENT.rubric, language, screen)
    standing = entry(report)
    print_class([standing], screen)
    print_statistics(class_statistics([standing]), ASSIGNMENT.rubric, language, screen)
    lines = Text.from_ansi(screen.file.getvalue()).plain.splitlines()  # type: ignore[attr-defined] # a StringIO
    assert len(lines) > 20
    assert [line for line in lines if cell_len(line) > 60] == []


def test_the_doctor_names_every_layer_with_what_it_does_or_its_remedy() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    subjects = {line.split()[1] for line in result.stdout.splitlines() if line[:1] in "✓–"}
    assert {"python", "torch", "device", "isolation", "imports"} <= subjects
    assert subjects - {"python", "torch", "device", "isolation", "imports"} <= set(LAYERS)


def test_the_doctor_tries_what_student_code_imports_and_ends_with_1_if_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here a worker may open nothing of Python, and the fork server has read nothing for it."""
    closed = "from grader.core.sandbox import importer, lockdown; "
    closed += "importer.places = lambda: (); lockdown.readable_paths = list; "
    monkeypatch.setattr(starting, "START", "import sys; sys.path.insert(0, sys.argv[1]); " + closed + starting.START)
    result = CliRunner().invoke(app, ["doctor"])
    assert isinstance(result.exception, SystemExit), "not a fault of ours"
    assert result.exit_code == 1
    if "✓ landlock" not in " ".join(result.stdout.split()):
        pytest.skip("without Landlock nothing can be closed")
    (found, remedy) = result.stdout.splitlines()[-2:]
    assert found.startswith("✗ imports")
    assert "pdb (No module named 'pdb')" in found
    assert "torch.onnx" in found
    assert remedy.strip() == "install Python and torch into a folder that every user can read, such as /opt"


def test_a_layer_that_others_make_up_for_does_not_make_a_machine_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("namespaces", False, "bwrap is not installed", "install bubblewrap", needed=False)]
    monkeypatch.setattr(examined, "examine", lambda: found)
    result = CliRunner().invoke(app, ["doctor"])
    assert (result.exit_code, result.stdout[:1]) == (0, "–")


def test_a_machine_that_lacks_what_is_needed_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Finding("torch", True, "2.13.0")
    monkeypatch.setattr(examined, "examine", lambda: [Finding("python", False, "3.10.1", "use Python 3.11"), good])
    result = CliRunner().invoke(app, ["doctor"])
    lines = [line.split() for line in result.stdout.splitlines()]
    assert (result.exit_code, lines[0], lines[1]) == (1, ["✗", "python", "3.10.1"], ["use", "Python", "3.11"])
    assert lines[2] == ["✓", "torch", "2.13.0"]


@pytest.mark.parametrize(
    ("stops", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "stopped."),
        (PermissionError(13, "Permission denied", "a/report.json"), 2, "a/report.json: Permission denied."),
        (LedgerError("a: is damaged."), 2, "a: is damaged."),
        (GradingFailed("3 judges failed"), 3, "3 judges failed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_stops_a_command_is_one_line(
    stops: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In any command, also in one that expects nothing of the kind."""

    def read(*_: object) -> None:
        raise stops

    monkeypatch.setattr(show, "read_decided", read)
    assert refused("show", tmp_path, code=code) == f"grader: {line}"


def test_an_error_of_no_file_is_ours_and_keeps_its_traceback() -> None:
    with pytest.raises(OSError, match="no memory"), ending():
        raise OSError("no memory")
