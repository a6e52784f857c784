"""The decisions beside the reports of a class: read, entered in the ledger, and told in the summary."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..results.database import LedgerError, opened
from ..results.decided import Decided, DecisionLine
from ..results.report import Attention, Summary, SummaryLine, summary_line, write_json
from ..results.written import SUMMARY
from ..rubric import Rubric
from .book import Book, Read, book, placed
from .file import read
from .grades import decided
from .history import entered, standing
from .model import FILE, DecisionError, Ruling
from .people import People, key, students
from .words import sentence

STALE: Final = "stale_decision"


def decisions_of(
    folder: Path,
    lines: Sequence[SummaryLine],
    reports: Read,
    rubric: Rubric,
    ledger: sqlite3.Connection | None = None,
    note: bool = True,
) -> Book:
    """The decisions about a class; what has changed in their file since the last command is entered in the ledger.

    Args:
        folder: The reports, with ``decisions.toml`` beside them.
        lines: Of the summary.
        reports: Gives the report of a submission as the grader made it.
        rubric: Has the policy.
        ledger: The ledger, if it is open already; else it is opened if there are decisions. While a run is under way,
            it cannot be opened, and the next command enters what has changed.
        note: Whether to enter anything at all.

    Raises:
        DecisionError: If the file has a mistake, or is gone although the ledger knows of decisions.
    """
    entries, people, there = read(folder), People(lines), (folder / FILE).exists()
    found = placed(entries, people, reports, rubric.policy)
    if ledger is not None:
        if not there and (lost := len(standing(ledger))):
            raise DecisionError(
                f"{folder / FILE}: is gone, and the ledger knows {lost} decisions of it. Put it back; an empty file "
                "withdraws them all."
            )
        found = entered(ledger, found)
    elif there and note:
        with contextlib.suppress(LedgerError, OSError), opened(folder) as own:
            found = entered(own, found)
    return book(found, people)


def told(line: SummaryLine, own: Book, reports: Read, rubric: Rubric) -> SummaryLine:
    """A line of the summary with the decisions about it; its own score and bonus stay those of the grader."""
    rulings = about(line, own)
    if not rulings:
        return line.model_copy(update={"decided": None})
    now = in_force(line, own, reports, rubric)
    decisions = [
        DecisionLine(
            what=ruling.decision.slot,
            text=sentence(ruling.decision, rubric, "en"),
            who=ruling.decision.who,
            when=ruling.decision.when.isoformat(),
            stale=ruling.stale,
        )
        for ruling in rulings
    ]
    return line.model_copy(update={"decided": Decided(score=now.score, bonus=now.bonus, decisions=decisions)})


def in_force(line: SummaryLine, own: Book, reports: Read, rubric: Rubric) -> SummaryLine:
    """A line of the summary with the points that people decided on."""
    if not own.points(line.id):
        return line
    return summary_line(decided(reports(line.id), own, rubric), line.practice)


def about(line: SummaryLine, own: Book) -> list[Ruling]:
    """Every decision that holds for a submission or one of its students, each once."""
    each = (own.about(line.id, key(student)) for student in students(line.id, line.origin))
    return list(dict.fromkeys(ruling for rulings in each for ruling in rulings))


def stale(lines: Sequence[SummaryLine], own: Book) -> Iterator[Attention]:
    """Submissions with a decision that a person should look at again."""
    for line in lines:
        for ruling in about(line, own):
            if ruling.stale:
                yield Attention(id=line.id, code=STALE, text=str(ruling))


def retold(summary: Summary, own: Book, reports: Read, rubric: Rubric) -> Summary:
    """A summary with what people decided by now, in place of the decisions that it told before."""
    attention = [one for one in summary.attention if one.code != STALE]
    lines = [told(line, own, reports, rubric) for line in summary.submissions]
    return summary.model_copy(update={"submissions": lines, "attention": [*attention, *stale(lines, own)]})


def rewrite_summary(folder: Path, own: Book, reports: Read, rubric: Rubric) -> None:
    """Bring the summary up to date with the decisions, where there is one and a line of it has changed."""
    path = folder / SUMMARY
    if path.exists():
        before = Summary.model_validate_json(path.read_bytes())
        if (now := retold(before, own, reports, rubric)) != before:
            write_json(path, now)
