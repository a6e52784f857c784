"""Reads the decisions beside the reports of a class, and keeps their history in the ledger: who, what, when, before."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.core.grades.graded import FILE, DecisionError, GradedClass
from grader.core.grades.people import People, Unknown
from grader.core.intake.candidate import Candidate
from grader.core.results.database import LedgerError, opened, transaction
from grader.core.results.report import SummaryLine

from .decided import DecidedClass
from .file import files_in, read
from .model import Decision, Ground, Ruling
from .placing import book, placed

TABLE = Path(__file__).with_name("history.sql")
COLUMNS = "noted_at, change, student, what, who, decided_at, why, decision, before, ground"
_STANDING = (
    "SELECT decision, ground FROM decisions WHERE id IN (SELECT max(id) FROM decisions GROUP BY decision) "
    "AND change = 'made' ORDER BY id"
)


def with_files(folder: Path, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each with the files that stand for others, as decided.

    Raises:
        DecisionError: If the file has a mistake.
    """
    taken: dict[str, dict[str, str]] = {}
    people = People(SummaryLine.model_construct(id=one.id, origin=one.origin) for one in candidates)
    for decision in (entry.decision for entry in read(folder)):
        with contextlib.suppress(Unknown):
            for work in people.submissions(decision.student) if decision.file or decision.withdraw else ():
                path, _, name = (decision.file or "").partition("=")
                taken.setdefault(work, {})[path or decision.slot] = name
    return [
        replace(one, taken={path: name for path, name in taken.get(one.id, {}).items() if name}) for one in candidates
    ]


def decided(known: GradedClass, ledger: sqlite3.Connection | None = None, note: bool = True) -> DecidedClass:
    """The class with the decisions beside its reports, as :mod:`grader.core.extras` promises it.

    Without an open ledger, it is opened if there are decisions. While a run is under way, it cannot be opened, and the
    next command enters what has changed.
    """
    folder, people = known.folder, People(known.lines)
    entries, there = read(folder), bool(files_in(folder))
    found = placed(entries, people, known.as_graded, known.rubric.policy)
    if ledger is not None:
        if not there and (lost := len(standing(ledger))):
            raise DecisionError(
                f"{folder / FILE}: is missing, but the ledger records {lost} decisions from it. Restore it; an empty "
                "file withdraws them all."
            )
        found = entered(ledger, found)
    elif there and note:
        with contextlib.suppress(LedgerError, OSError), opened(folder) as database:
            found = entered(database, found)
    return DecidedClass(folder, known.lines, known.rubric, known.as_graded, book(found, people))


def standing(ledger: sqlite3.Connection) -> dict[str, str | None]:
    """The decisions that were in the file when a command last read it, each with its ground, as JSON."""
    ledger.execute(TABLE.read_text(encoding="utf-8"))
    return dict(ledger.execute(_STANDING).fetchall())


def entered(ledger: sqlite3.Connection, found: Sequence[Ruling]) -> list[Ruling]:
    """Record changes of the file; returns its decisions, each with its basis.

    If somebody wrote a decision by hand without its ground, the ground is what held when a command first read it.
    """
    with transaction(ledger):
        known = standing(ledger)
        here = {ruling.decision.identity: ruling for ruling in found}
        now = datetime.now(UTC).isoformat(timespec="seconds")

        def insert(change: str, identity: str, decision: Decision, before: str | None) -> None:
            facts = (decision.student, decision.slot, decision.who, decision.when.isoformat(), decision.why or "")
            row = (now, change, *facts, identity, before, known[identity])
            ledger.execute(f"INSERT INTO decisions ({COLUMNS}) VALUES ({', '.join('?' * len(row))})", row)

        earlier = {identity: Decision.model_validate_json(identity) for identity in known}
        before = {(decision.student, decision.slot): identity for identity, decision in earlier.items()}
        for identity, ruling in here.items():
            slot = ruling.decision.student, ruling.decision.slot
            if identity not in known:
                ground = ruling.decision.ground or ruling.now
                known[identity] = ground.model_dump_json() if ground else None
                insert("made", identity, ruling.decision, before.get(slot))
            before[slot] = identity
        for identity in (one for one in earlier if one not in here):
            insert("removed", identity, earlier[identity], identity)
    return [_with_ground(ruling, known[ruling.decision.identity]) for ruling in found]


def _with_ground(ruling: Ruling, ground: str | None) -> Ruling:
    if ruling.decision.ground or ground is None:
        return ruling
    decision = ruling.decision.model_copy(update={"ground": Ground.model_validate_json(ground)})
    return replace(ruling, decision=decision)
