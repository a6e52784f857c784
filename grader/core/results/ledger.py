"""The ledger records what has been graded, and under which conditions: a SQLite file beside the reports.

A report is first written to its file, then entered in the ledger in one transaction. If a run is killed between the
two, the next run grades that submission again. A run that is killed at any other moment loses nothing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.core.intake.origin import Origin
from grader.core.intake.submission import Submission

from .database import transaction
from .files import Stamp, json_text
from .outcome import Outcome
from .report import Report


@dataclass(frozen=True)
class Recorded:
    """An earlier result under the present conditions, with all that decides whether it can be used again.

    Attributes:
        result: The id of the result's row in the ledger.
        sha256: The digest of the submission's files.
        reason: Why the submission was not graded; None if it was.
        stamp: That of ``report.json`` just after it was written, see :func:`.files.stamp`.
        shown: Whether the report was written with the present rubric and language.
    """

    result: int
    sha256: str
    notices: tuple[str, ...]
    reason: str | None
    origin: Origin | None
    stamp: Stamp
    shown: bool

    def is_of(self, submission: Submission) -> bool:
        """Whether the submission is the one graded then: the same files, with the same notices."""
        return (self.sha256, self.notices, self.reason) == (submission.sha256, submission.notices, submission.reason)


class Ledger:
    """The ledger of one folder, in an opened file.

    ``details`` are the conditions of grading: everything but the submission that a report depends on. ``view`` is the
    rubric and language in which reports are written; a result under another view counts as well.
    """

    def __init__(
        self, connection: sqlite3.Connection, details: Mapping[str, str], view: Mapping[str, str] | None = None
    ) -> None:
        self._connection = connection
        self._view = view or {}
        self._now = {**details, **self._view}
        self._details = json.dumps(self._now, sort_keys=True)
        self._key = hashlib.sha256(json.dumps(details, sort_keys=True).encode()).hexdigest()

    def expect(self, submissions: Iterable[str], fresh: bool, others: Iterable[str] = ()) -> None:
        """Begin a run over these submissions; with ``fresh``, none of their earlier results is ever used again.

        The ``others`` are submissions of earlier runs that stay in the class, with the results that they have.
        """
        with transaction(self._connection):
            self._connection.execute("DELETE FROM class")
            self._connection.executemany("INSERT INTO class VALUES (?)", ((name,) for name in submissions))
            if fresh:
                self._connection.execute("UPDATE results SET reusable = 0 WHERE submission IN (SELECT * FROM class)")
            self._connection.executemany("INSERT INTO class VALUES (?)", ((name,) for name in others))

    def known(self) -> dict[str, Origin | None]:
        """The submissions of the class so far, and whose they are."""
        found = self._connection.execute("SELECT submission, origin FROM class LEFT JOIN latest USING (submission)")
        return {submission: origin_of(text) for submission, text in found}

    def reports(self) -> Iterator[Report]:
        """The report of each submission of the class that has a result, in English, by their ids."""
        found = self._connection.execute(
            "SELECT json_zlib FROM latest JOIN copies ON copies.result = latest.id ORDER BY submission"
        )
        return (_unpacked(packed) for (packed,) in found)

    def recorded(self) -> dict[str, Recorded]:
        """From a submission's id to its result under the present conditions, which is valid for the same files only."""
        found = self._connection.execute(
            "SELECT submission, latest.id, sha256, notices, reason, origin, size, mtime_ns, details = ? "
            "FROM latest JOIN conditions ON conditions.id = latest.conditions "
            "JOIN copies ON copies.result = latest.id WHERE reusable AND key = ?",
            (self._details, self._key),
        )
        known = {}
        for name, result, sha256, notices, reason, origin, *stamp, shown in found:
            said, whose = tuple(json.loads(notices)), origin_of(origin)
            known[name] = Recorded(result, sha256, said, reason, whose, tuple(stamp), bool(shown))
        return known

    def differing(self, submissions: Iterable[str]) -> list[str]:
        """The names of conditions under which those submissions' results were obtained and that have changed since."""
        found = self._connection.execute(
            "SELECT DISTINCT details FROM latest JOIN conditions ON conditions.id = latest.conditions "
            "WHERE reusable AND key <> ? AND submission IN (SELECT value FROM json_each(?))",
            (self._key, json.dumps([*submissions])),
        )
        names = {name for (details,) in found for name, _ in self._now.items() ^ json.loads(details).items()}
        return sorted(names - self._view.keys())

    def details(self) -> list[dict[str, str]]:
        """All conditions and views under which the class has its results."""
        found = self._connection.execute(
            "SELECT DISTINCT details FROM latest JOIN conditions ON conditions.id = latest.conditions"
        )
        return [json.loads(details) for (details,) in found]

    def record(self, report: Report, file: Stamp) -> None:
        """Enter a report, in English, that has just been written; earlier results of its submission stay as history.

        ``file`` is the stamp of ``report.json``, which may be in another language. The result can be used again unless
        the grader failed.
        """
        work, how = report.submission, report.provenance
        row = {
            "submission": work.id,
            "reusable": report.status != "grader_error",
            "conditions": self._conditions(report),
            "sha256": work.sha256,
            **report.model_dump(include={"status", "reason", "score", "max_score", "bonus", "max_bonus"}),
            "notices": json.dumps(work.notices, ensure_ascii=False),
            "started_at": how.started_at,
            "duration_s": how.duration_s,
            **origin_row(work.origin),
        }
        with transaction(self._connection):
            self._connection.execute(
                "DELETE FROM copies WHERE result IN (SELECT id FROM results WHERE submission = ?)", (work.id,)
            )
            self._connection.execute("UPDATE results SET current = 0 WHERE submission = ? AND current", (work.id,))
            result = self._insert("results", row)
            for position, task in enumerate(report.tasks):
                points = {"task": task.id, "score": task.score, "max_score": task.max_score}
                self._insert("tasks", {"result": result, "position": position, **points})
            for prop in property_rows(report):
                self._insert("properties", {"result": result, **prop})
            self._insert("copies", {"result": result, **_copy(report, file)})

    def report(self, result: int) -> Report:
        """The report of the latest result of a submission, in English."""
        (packed,) = self._connection.execute("SELECT json_zlib FROM copies WHERE result = ?", (result,)).fetchone()
        return _unpacked(packed)

    def rewritten(self, result: int, report: Report, file: Stamp) -> None:
        """Note that ``report.json`` was written again with the same points: another ``origin``, or other words."""
        changed = {**origin_row(report.submission.origin), "conditions": self._conditions(report)}
        with transaction(self._connection):
            self._update("copies", _copy(report, file), "result", result)
            self._update("results", changed, "id", result)

    def _conditions(self, report: Report) -> int:
        """The id of the row that holds a report's conditions; the row is inserted if there is none."""
        where, how = report.environment.model_dump(), report.provenance.model_dump(exclude={"started_at", "duration_s"})
        graded = {"assignment": report.assignment, **how, **where, "devices": json.dumps(report.environment.devices)}
        row = {"key": self._key, "details": self._details, **graded}
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


def _unpacked(packed: bytes) -> Report:
    return Report.model_validate_json(zlib.decompress(packed))


def _copy(report: Report, file: Stamp) -> Row:
    size, mtime_ns = file
    return {"size": size, "mtime_ns": mtime_ns, "json_zlib": zlib.compress(json_text(report).encode())}


MAX_MESSAGE = 500  # characters of a case's message that the ledger keeps; the report has the whole message
Row = Mapping[str, object]


def origin_row(origin: Origin | None) -> Row:
    """Whose submission it is: the students' names as one text, the late flag, and the whole origin as JSON."""
    return {
        "students": ", ".join(map(str, origin.students)) if origin else "",
        "late": origin.late if origin else None,
        "origin": origin.model_dump_json() if origin else None,
    }


def origin_of(text: str | None) -> Origin | None:
    """The origin from the JSON that :func:`origin_row` made."""
    return Origin.model_validate_json(text) if text else None


def property_rows(report: Report) -> Iterator[Row]:
    """A row for each property; unless it passed, the row has the message of the property's simplest case."""
    lines = ((task, prop) for task in report.tasks for prop in task.properties)
    for position, (task, prop) in enumerate(lines):
        case = prop.simplest_case
        yield {
            "position": position,
            "task": task.id,
            "property": prop.id,
            **prop.model_dump(include={"points", "max_points", "outcome", "misconception"}, mode="json"),
            "message": case.message[:MAX_MESSAGE] if case and prop.outcome is not Outcome.PASSED else None,
        }
