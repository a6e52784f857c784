"""How commands read a class: reports and summary as the grader wrote them, and what people decided about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from grader.core.grades.in_force import DecidedClass as DecidedClass
from grader.core.grades.in_force import decisions_of, rewrite_summary
from grader.core.grades.model import DecisionError
from grader.core.results.report import Report, SummaryLine
from grader.core.rubric import Rubric

from .terminal import fail, read_class, read_written, warn


def as_graded(folder: Path, submission: str) -> Report:
    """A report as the grader wrote it."""
    return read_written(folder / submission / "report.json", Report)


def read_decided(
    folder: Path,
    rubric: Rubric,
    lines: Sequence[SummaryLine] | None = None,
    ledger: sqlite3.Connection | None = None,
    quiet: bool = False,
    note: bool = True,
) -> DecidedClass:
    """Read a class and the decisions about it, and say which of them a person should look at.

    Args:
        folder: Output folder of grade.
        rubric: Has the policy.
        lines: Of its summary; None to read them.
        ledger: The opened ledger, where the command has opened it.
        quiet: Whether to say nothing.
        note: Whether to bring ledger and summary up to date with the decisions.
    """
    lines = read_class(folder) if lines is None else lines

    def reports(submission: str) -> Report:
        return as_graded(folder, submission)

    try:
        book = decisions_of(folder, lines, reports, rubric, ledger, note)
        if note:
            rewrite_summary(folder, book, reports, rubric)
    except DecisionError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}.")
    for ruling in () if quiet else book.unsettled:
        warn(str(ruling))
    return DecidedClass(folder, lines, book, rubric, reports)
