"""Reads the decisions beside the reports of a class, and enters them in the ledger."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.core.grades.book import Book, Read
from grader.core.grades.model import FILE, DecisionError
from grader.core.grades.people import People, Unknown
from grader.core.intake.candidate import Candidate
from grader.core.results.database import LedgerError, opened
from grader.core.results.report import SummaryLine
from grader.core.rubric import Rubric
from grader.extras.decisions.placing import book, placed

from .file import files_in, read
from .history import entered, standing


def with_files(folder: Path, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each with the files that stand for others, as decided.

    Raises:
        DecisionError: If the file has a mistake.
    """
    taken: dict[str, dict[str, str]] = {}
    people = People(SummaryLine.model_construct(id=one.id, origin=one.origin) for one in candidates)
    for own in (entry.decision for entry in read(folder)):
        with contextlib.suppress(Unknown):
            for work in people.submissions(own.student) if own.file or own.withdraw else ():
                path, _, name = (own.file or "").partition("=")
                taken.setdefault(work, {})[path or own.slot] = name
    return [
        replace(one, taken={path: name for path, name in taken.get(one.id, {}).items() if name}) for one in candidates
    ]


def decisions_of(
    folder: Path,
    lines: Sequence[SummaryLine],
    reports: Read,
    rubric: Rubric,
    ledger: sqlite3.Connection | None = None,
    note: bool = True,
) -> Book:
    """The decisions about a class, as :func:`grader.core.grades.in_force.decisions_of` promises them.

    Without an open ledger, it is opened if there are decisions. While a run is under way, it cannot be opened, and the
    next command enters what has changed.
    """
    entries, people, there = read(folder), People(lines), bool(files_in(folder))
    found = placed(entries, people, reports, rubric.policy)
    if ledger is not None:
        if not there and (lost := len(standing(ledger))):
            raise DecisionError(
                f"{folder / FILE}: is missing, but the ledger records {lost} decisions from it. Restore it; an empty "
                "file withdraws them all."
            )
        found = entered(ledger, found)
    elif there and note:
        with contextlib.suppress(LedgerError, OSError), opened(folder) as own:
            found = entered(own, found)
    return book(found, people)
