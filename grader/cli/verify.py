"""``grader verify``: tests the grader on submissions and attacks whose truth is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..pool.progress import follow
from ..settings import CannotGrade
from .terminal import ERR, EXIT_GRADER_ERROR, fail, prepare, say


def verify(
    out: Annotated[Path, typer.Option(help="Where the kill table goes.")] = Path("build/kill-table.md"),
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 2,
    all_styles: Annotated[bool, typer.Option("--all-styles", help="Every right style, not a sample.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Judges at a time.")] = os.cpu_count() or 1,
) -> None:
    """Test the grader on submissions and attacks whose truth is known, and write the kill table."""
    from ..tools.verify import Attempt, Comparison, JudgeDied, Verdict, judged, page, rounds, summary  # imports torch

    prepare(out.parent)
    verdicts: list[Verdict] = []
    attempts: list[Attempt] = []
    comparisons: list[Comparison] = []
    try:
        for round_ in rounds(ASSIGNMENT, range(seeds), all_styles):
            for result in follow(judged(round_, jobs), round_.title, len(round_.items), ERR):
                if result.problem:
                    say(f"✗ {result.label}: {result.problem}", "red")
                if isinstance(result, Verdict):
                    verdicts.append(result)
                elif isinstance(result, Attempt):
                    attempts.append(result)
                else:
                    comparisons.append(result)
    except KeyboardInterrupt:
        fail("stopped; nothing was written.", 130)
    except (CannotGrade, JudgeDied) as error:
        fail(str(error), EXIT_GRADER_ERROR)
    out.write_text(page(ASSIGNMENT, verdicts, attempts, comparisons), encoding="utf-8")
    for line in summary(verdicts, attempts, comparisons):
        say(line)
    say(f"Kill table: {out}")
    results: list[Verdict | Attempt | Comparison] = [*verdicts, *attempts, *comparisons]
    if any(result.problem for result in results):
        raise typer.Exit(EXIT_GRADER_ERROR)
