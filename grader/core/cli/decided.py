"""How commands read a class: reports and summary as the grader wrote them, and what people decided about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grader.core.grades import decided
from grader.core.grades.decided import DecidedClass
from grader.core.results.report import SummaryLine
from grader.core.results.written import read_lines, read_report

from .terminal import chosen, fail, warn

Partial = Annotated[bool, typer.Option("--partial", help="Proceed even if only one task was graded (--only).")]


def refuse_partial(folder: Path, lines: Iterable[SummaryLine], partial: bool) -> None:
    """End the command if submissions were graded for one task alone, unless the person says that this is meant."""
    rubric = chosen().rubric
    whole = (rubric.max_score, rubric.max_bonus)
    alone = {(own.max_score, own.max_bonus): task.id for task in rubric.tasks for own in (rubric.only(task.id),)}
    found = [alone[worth] for line in lines if (worth := (line.max_score, line.max_bonus)) in alone.keys() - {whole}]
    if found and not partial:
        tasks = ", ".join(sorted({*found}))
        fail(
            f"{folder}: {len(found)} submissions were graded for {tasks} only. Grade them without --only, or say "
            "--partial if that is meant. Nothing was written."
        )


def read_decided(
    folder: Path,
    lines: Sequence[SummaryLine] | None = None,
    ledger: sqlite3.Connection | None = None,
    quiet: bool = False,
    note: bool = True,
) -> DecidedClass:
    """Read a class and the decisions about it, and say which of them a person should look at, unless ``quiet``.

    Without ``lines``, those of the summary are read. With ``note``, the ledger is brought up to date with decisions.
    """
    lines = read_lines(folder) if lines is None else lines
    known = decided.read_decided(folder, lines, partial(read_report, folder), chosen().rubric, ledger, note)
    for ruling in () if quiet else known.book.unsettled:
        warn(str(ruling))
    return known
