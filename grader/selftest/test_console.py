"""What a person sees at a terminal: the moving bar, and the doctor's findings."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console
from typer.testing import CliRunner

from grader.cli.app import app
from grader.console import track
from grader.grading import Grader, reference_files
from grader.intake.submission import Submission
from grader.results.report import Report
from grader.sandbox.levels import LAYERS


def test_the_bar_says_what_is_done_what_runs_and_what_failed(grader: Grader) -> None:
    unreadable = grader.grade(Submission("nobody", reason="there is nothing"))
    graded = grader.grade(Submission("ada", reference_files()))
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)

    def reports() -> Iterator[Report]:
        yield graded
        yield unreadable

    assert list(track(reports(), 3, 2, screen)) == [graded, unreadable]
    shown = screen.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    for part in ("grading with 2 jobs", "2/3", "1 running", "1 not graded"):
        assert part in shown


def test_the_doctor_names_every_layer_with_what_it_does_or_its_remedy() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    subjects = {line.split()[1] for line in result.stdout.splitlines() if line[:1] in "✓✗"}
    assert {"python", "torch", "gpu", "isolation"} <= subjects
    assert subjects - {"python", "torch", "gpu", "isolation"} <= set(LAYERS)
