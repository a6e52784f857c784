"""Finds grades that an export would lower, by comparing it with earlier exports and gradings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from grader.core.grades.people import Key, key, students
from grader.core.results.database import transaction
from grader.core.results.ledger import origin_of
from grader.core.results.policy import grade
from grader.core.rubric import Policy

from .rows import Row

Before = tuple[float, str]  # the highest grade that a student had, and when that was, or the file that has it, in words


def drops(
    ledger: sqlite3.Connection,
    rows: Sequence[Row],
    to: str,
    policy: Policy,
    written: Mapping[Key, Before] | None = None,
) -> list[tuple[str, str]]:
    """Who would get less than in a file, in the last export to that platform, or in a grading since.

    Grades before the last export do not count, since a person has looked at that export and accepted it. Gradings after
    it count although they were never exported, or else an export would hide what a regrade has cost; their grades
    follow the present policy. Rows have what the downloaded file says, and ``written`` is the file to be overwritten.
    Each comes as the grade before and now, which several students may share, and the student.
    """
    export = ledger.execute(
        "SELECT id, newest_result, exported_at FROM exports WHERE format = ? ORDER BY id DESC LIMIT 1", (to,)
    ).fetchone()
    identifier, newest, exported_at = export or (None, 0, "")
    best: dict[Key, Before] = {}
    told = ledger.execute("SELECT student, name, grade FROM exported WHERE export = ?", (identifier,))
    _raise(best, (((student, name), points, f"exported {exported_at}") for student, name, points in told))
    graded = ledger.execute(
        "SELECT submission, score, bonus, origin, started_at FROM results "
        "WHERE id > ? AND status = 'graded' AND id NOT IN (SELECT id FROM latest)",
        (newest,),
    )
    for submission, score, bonus, text, started_at in graded:
        origin = origin_of(text)
        points = grade(policy, score, bonus, origin).points
        _raise(best, ((key(student), points, f"graded {started_at[:10]}") for student in students(submission, origin)))
    _raise(best, ((key(row.student), row.there, "in the downloaded file") for row in rows))
    _raise(best, ((student, *before) for student, before in (written or {}).items()))
    found = ((row, best[key(row.student)]) for row in rows if key(row.student) in best)
    return [
        (f"{points:g} {when}, now {_now(row)}", f"{row.student} ({row.report.submission.id})")
        for row, (points, when) in found
        if row.cell is None or row.cell.points < points
    ]


def _now(row: Row) -> str:
    return f"{row.cell.points:g}" if row.cell else "excused" if row.excused else "blank"


def remember(ledger: sqlite3.Connection, rows: Iterable[Row], to: str) -> None:
    """Note in the ledger which grades are exported to a platform."""
    with transaction(ledger):
        export = ledger.execute(
            "INSERT INTO exports (exported_at, format, newest_result) SELECT ?, ?, coalesce(max(id), 0) FROM results",
            (datetime.now(UTC).isoformat(timespec="seconds"), to),
        ).lastrowid
        ledger.executemany(
            "INSERT OR REPLACE INTO exported VALUES (?, ?, ?, ?, ?)",
            (
                (export, row.report.submission.id, *key(row.student), row.cell.points if row.cell else None)
                for row in rows
            ),
        )


def _raise(best: dict[Key, Before], found: Iterable[tuple[Key, float | None, str]]) -> None:
    for student, points, when in found:
        if points is not None and (student not in best or points > best[student][0]):
            best[student] = points, when
