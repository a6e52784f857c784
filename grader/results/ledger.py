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
from .ledger_rows import Row, conditions_row, origin_of, origin_row, property_rows, result_row, task_rows
from .report import Report


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
            own: Entry(result, sha256, tuple(json.loads(notices)), reason, origin_of(origin), size, mtime_ns)
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
        own = report.submission.id
        with transaction(self._connection):
            self._connection.execute(
                "DELETE FROM copies WHERE result IN (SELECT id FROM results WHERE submission = ?)", (own,)
            )
            self._connection.execute("UPDATE results SET current = 0 WHERE submission = ? AND current", (own,))
            result = self._insert("results", {**result_row(report), "conditions": self._conditions(report)})
            for task in task_rows(report):
                self._insert("tasks", {"result": result, **task})
            for prop in property_rows(report):
                self._insert("properties", {"result": result, **prop})
            self._insert("copies", {"result": result, **_copy(text, file)})

    def copy(self, result: int) -> str:
        """The whole ``report.json`` of a current result."""
        (packed,) = self._connection.execute("SELECT json_zlib FROM copies WHERE result = ?", (result,)).fetchone()
        return zlib.decompress(packed).decode()

    def rewritten(self, result: int, text: str, file: os.stat_result, origin: Origin | None) -> None:
        """Note that a report has been written again, as it was but for whose it is."""
        with transaction(self._connection):
            self._update("copies", _copy(text, file), "result", result)
            self._update("results", origin_row(origin), "id", result)

    def _conditions(self, report: Report) -> int:
        """The row of the conditions of a report, made if it is new."""
        row = {"key": self._key, "details": self._details, **conditions_row(report)}
        same = " AND ".join(f"{name} = ?" for name in row)
        found = self._connection.execute(f"SELECT id FROM conditions WHERE {same}", [*row.values()]).fetchone()
        return int(found[0]) if found else self._insert("conditions", row)

    def _insert(self, table: str, row: Row) -> int:
        places = ", ".join("?" * len(row))
        done = self._connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", [*row.values()])
        return int(done.lastrowid or 0)

    def _update(self, table: str, row: Row, column: str, value: int) -> None:
        changes = ", ".join(f"{name} = ?" for name in row)
        self._connection.execute(f"UPDATE {table} SET {changes} WHERE {column} = ?", [*row.values(), value])


def _copy(text: str, file: os.stat_result) -> Row:
    return {"size": file.st_size, "mtime_ns": file.st_mtime_ns, "json_zlib": zlib.compress(text.encode())}
