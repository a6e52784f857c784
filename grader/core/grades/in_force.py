"""What people decided about a class: the decisions in force, the points with them, and what the summary says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from grader.core.extras import extra
from grader.core.results.report import (
    Attention,
    Decided,
    DecisionLine,
    Summary,
    SummaryLine,
    summary_line,
    write_json,
)
from grader.core.results.written import SUMMARY
from grader.core.rubric import Rubric

from .book import NOTHING, Book, Read
from .grades import decided
from .model import FILE, FOLDER, DecisionError, Ruling
from .people import key, students
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
    """The decisions about a class, as the extra ``decisions`` finds them; none where there are none.

    Args:
        folder: The reports, with ``decisions.toml`` beside them.
        lines: Of the summary.
        reports: Gives the report of a submission as the grader made it.
        rubric: Has the policy.
        ledger: The ledger, if it is open already.
        note: Whether to enter in the ledger what has changed in the file.

    Raises:
        DecisionError: If the file has a mistake, is gone although the ledger knows decisions, or cannot be read here.
    """
    if decisions := extra("decisions"):
        found: Book = decisions.decisions_of(folder, lines, reports, rubric, ledger, note)
        return found
    if there := [path for path in (folder / FILE, folder / FOLDER) if path.exists()]:
        raise DecisionError(f"{there[0]}: only grader/extras/decisions can read it, and that folder is missing.")
    return NOTHING


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


def everything(line: SummaryLine, own: Book) -> list[Ruling]:
    """All decisions, appeals and looks of a submission and its students."""
    seen = own.seen(line.id)
    return [*about(line, own), *own.asked(line.id), *([seen] if seen else [])]


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
