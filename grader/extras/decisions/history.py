"""The history of decisions in the ledger: author, decision, time, and the one before."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grader.core.grades.model import Decision, Ground, Ruling
from grader.core.results.database import transaction

TABLE = Path(__file__).with_name("history.sql")
_STANDING = (
    "SELECT decision, ground FROM decisions WHERE id IN (SELECT max(id) FROM decisions GROUP BY decision) "
    "AND change = 'made' ORDER BY id"
)


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
        here = {own.decision.identity: own for own in found}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        before = {_slot(Decision.model_validate_json(identity)): identity for identity in known}
        for identity, own in here.items():
            if identity not in known:
                ground = own.decision.ground or own.now
                known[identity] = ground.model_dump_json() if ground else None
                _insert(ledger, now, "made", identity, before.get(_slot(own.decision)), known[identity])
            before[_slot(own.decision)] = identity
        for identity in [own for own in known if own not in here]:
            _insert(ledger, now, "removed", identity, identity, known[identity])
    return [_with_ground(own, known[own.decision.identity]) for own in found]


def _slot(own: Decision) -> tuple[str, str]:
    return own.student, own.slot


def _insert(
    ledger: sqlite3.Connection, now: str, change: str, identity: str, before: str | None, ground: str | None
) -> None:
    own = Decision.model_validate_json(identity)
    row: Mapping[str, str | None] = {
        "noted_at": now,
        "change": change,
        "student": own.student,
        "what": own.slot,
        "who": own.who,
        "decided_at": own.when.isoformat(),
        "why": own.why or "",
        "decision": identity,
        "before": before,
        "ground": ground,
    }
    names, places = ", ".join(row), ", ".join("?" * len(row))
    ledger.execute(f"INSERT INTO decisions ({names}) VALUES ({places})", [*row.values()])


def _with_ground(own: Ruling, ground: str | None) -> Ruling:
    if own.decision.ground or ground is None:
        return own
    decision = own.decision.model_copy(update={"ground": Ground.model_validate_json(ground)})
    return replace(own, decision=decision)
