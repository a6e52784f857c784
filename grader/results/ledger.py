"""What has been graded, and under which conditions: a SQLite file beside the reports, with one writer.

A report is written first and entered here next, in one transaction. Killed between the two, a run loses one grading;
killed at any other moment, none.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..intake.origin import Origin
from .database import transaction
from .outcome import Outcome
from .report import PropertyReport, Report, TaskReport

MAX_MESSAGE = 500  # characters of a case's message; its report has all
RESULT = (
    *("submission", "reusable", "conditions", "sha256", "status", "reason", "score", "max_score", "bonus", "max_bonus"),
    *("students", "late", "origin", "notices", "started_at", "duration_s"),
)


@dataclass(frozen=True)
class Entry:
    """A result that holds under the present conditions, as far as it decides whether it can be used again.

    Attributes:
        sha256: Of the submission's files.
        reason: Why it is not graded, or None.
        size: Bytes of ``report.json`` when it was written.
        mtime_ns: Its time then.
    """

    result: int
    sha256: str
    notices: tuple[str, ...]
    reason: str | None
    origin: Origin | None
    size: int
    mtime_ns: int


class Ledger:
    """The ledger of one folder.

    Args:
        connection: An opened ledger file.
        details: Everything that decides a report, beside the submission.
    """

    def __init__(self, connection: sqlite3.Connection, details: Mapping[str, str]) -> None:
        self._connection = connection
        self._details = json.dumps(details, sort_keys=True)
        self._key = hashlib.sha256(self._details.encode()).hexdigest()

    def expect(self, submissions: Iterable[str], fresh: bool) -> None:
        """Begin a run of these submissions; ``fresh`` forbids to use what is known of them, now and after a kill."""
        with transaction(self._connection):
            self._connection.execute("DELETE FROM class")
            self._connection.executemany("INSERT INTO class VALUES (?)", ((own,) for own in submissions))
            if fresh:
                self._connection.execute("UPDATE results SET reusable = 0 WHERE submission IN (SELECT * FROM class)")

    def entries(self) -> dict[str, Entry]:
        """What need not be graded again, by submission, if its files are the same."""
        found = self._connection.execute(
            "SELECT submission, latest.id, sha256, notices, reason, origin, size, mtime_ns FROM latest "
            "JOIN conditions ON conditions.id = latest.conditions JOIN copies ON result = latest.id "
            "WHERE reusable AND key = ?",
            (self._key,),
        )
        return {
            own: Entry(result, sha256, tuple(json.loads(notices)), reason, _origin(origin), size, mtime_ns)
            for own, result, sha256, notices, reason, origin, size, mtime_ns in found
        }

    def other_conditions(self) -> list[dict[str, str]]:
        """The conditions of results that hold no longer because of them."""
        found = self._connection.execute(
            "SELECT DISTINCT details FROM latest JOIN conditions ON conditions.id = latest.conditions "
            "WHERE reusable AND key <> ?",
            (self._key,),
        )
        return [json.loads(details) for (details,) in found]

    def record(self, report: Report, text: str, file: os.stat_result) -> None:
        """Enter a report that has just been written; what was known of its submission becomes history.

        Args:
            report: As written.
            text: What stands in ``report.json``.
            file: What that looks like.
        """
        own = report.submission
        with transaction(self._connection):
            self._connection.execute(
                "DELETE FROM copies WHERE result IN (SELECT id FROM results WHERE submission = ?)", (own.id,)
            )
            self._connection.execute("UPDATE results SET current = 0 WHERE submission = ? AND current", (own.id,))
            row = (
                *(own.id, report.status != "grader_error", self._conditions(report), own.sha256, report.status),
                *(report.reason, report.score, report.max_score, report.bonus, report.max_bonus),
                *_whose(own.origin),
                *(json.dumps(own.notices, ensure_ascii=False), report.provenance.started_at),
                report.provenance.duration_s,
            )
            places = ", ".join("?" * len(RESULT))
            result = self._connection.execute(
                f"INSERT INTO results ({', '.join(RESULT)}) VALUES ({places})", row
            ).lastrowid
            self._connection.executemany("INSERT INTO tasks VALUES (?, ?, ?, ?, ?)", _tasks(result, report.tasks))
            self._connection.executemany(
                "INSERT INTO properties VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _properties(result, report.tasks)
            )
            self._connection.execute(
                "INSERT INTO copies VALUES (?, ?, ?, ?)", (result, file.st_size, file.st_mtime_ns, _packed(text))
            )

    def copy(self, result: int) -> str:
        """The whole ``report.json`` of a current result."""
        (packed,) = self._connection.execute("SELECT json_zlib FROM copies WHERE result = ?", (result,)).fetchone()
        return zlib.decompress(packed).decode()

    def rewritten(self, result: int, text: str, file: os.stat_result, origin: Origin | None) -> None:
        """Note that a report has been written again, as it was but for whose it is."""
        with transaction(self._connection):
            self._connection.execute(
                "UPDATE copies SET size = ?, mtime_ns = ?, json_zlib = ? WHERE result = ?",
                (file.st_size, file.st_mtime_ns, _packed(text), result),
            )
            self._connection.execute(
                "UPDATE results SET students = ?, late = ?, origin = ? WHERE id = ?",
                (*_whose(origin), result),
            )

    def _conditions(self, report: Report) -> int:
        """The row of the conditions of a report, made if it is new."""
        where, how = report.environment, report.provenance
        row = {
            "key": self._key,
            "details": self._details,
            "assignment": report.assignment,
            "grader_version": how.grader_version,
            "rubric_sha256": how.rubric_sha256,
            "hidden_tests_sha256": how.hidden_tests_sha256,
            "seed": how.seed,
            "python": where.python,
            "torch": where.torch,
            "devices": json.dumps(where.devices),
            "isolation": where.isolation,
            "command": how.command,
        }
        names, places = ", ".join(row), ", ".join("?" * len(row))
        same = " AND ".join(f"{name} = ?" for name in row)
        values = [*row.values()]
        self._connection.execute(f"INSERT OR IGNORE INTO conditions ({names}) VALUES ({places})", values)
        (found,) = self._connection.execute(f"SELECT id FROM conditions WHERE {same}", values).fetchone()
        return int(found)


def _tasks(result: int | None, tasks: Iterable[TaskReport]) -> Iterable[tuple[object, ...]]:
    return ((result, position, task.id, task.score, task.max_score) for position, task in enumerate(tasks))


def _properties(result: int | None, tasks: Iterable[TaskReport]) -> Iterable[tuple[object, ...]]:
    lines = ((task.id, prop) for task in tasks for prop in task.properties)
    for position, (task, prop) in enumerate(lines):
        end = (prop.points, prop.max_points, prop.outcome.value, prop.misconception, _message(prop))
        yield (result, position, task, prop.id, *end)


def _message(prop: PropertyReport) -> str | None:
    case = prop.simplest_case
    return case.message[:MAX_MESSAGE] if case and prop.outcome is not Outcome.PASSED else None


def _whose(origin: Origin | None) -> tuple[str, bool | None, str | None]:
    """Names to read, the platform's flag, and all of it as JSON."""
    if origin is None:
        return "", None, None
    return ", ".join(map(str, origin.students)), origin.late, origin.model_dump_json()


def _origin(text: str | None) -> Origin | None:
    return Origin.model_validate_json(text) if text else None


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode())
