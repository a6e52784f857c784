"""The standing of each submission, for the summary and the table of the class: from a ledger or from reports.

Practice points, which students earn in the notebooks, are shown beside the score, never added to it.
"""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ledger import origin_of
from .report import Attention, Environment, Practice, Provenance, Report, Summary, SummaryLine, summary_line


@dataclass(frozen=True)
class TaskStanding:
    """What a task earned."""

    id: str
    score: float
    max_score: float


@dataclass(frozen=True)
class Standing:
    """One submission's line of the summary, and its points by task; ``tasks`` is empty if nothing was run."""

    line: SummaryLine
    tasks: tuple[TaskStanding, ...]

    def points(self, task: str) -> float | None:
        """The points that a task earned; None if it was not graded."""
        earned = (own.score for own in self.tasks if own.id == task)
        return None if self.line.score is None else next(earned, None)


def standing(report: Report, practice: Practice | None = None) -> Standing:
    """The standing of the submission that a report is about."""
    tasks = (TaskStanding(task.id, task.score, task.max_score) for task in report.tasks)
    return Standing(summary_line(report, practice), tuple(tasks))


def standings(connection: sqlite3.Connection, practice: Mapping[str, Practice]) -> list[Standing]:
    """The standings of all submissions of the class that have a result, sorted by id."""
    tasks: dict[str, list[TaskStanding]] = {}
    for submission, *task in connection.execute(
        "SELECT submission, task, tasks.score, tasks.max_score FROM latest JOIN tasks ON result = latest.id "
        "ORDER BY submission, position"
    ):
        tasks.setdefault(submission, []).append(TaskStanding(*task))
    found = connection.execute(
        "SELECT submission, status, score, bonus, max_score, max_bonus, reason, origin FROM latest ORDER BY submission"
    )
    return [Standing(_line(row, practice.get(row[0])), tuple(tasks.get(row[0], ()))) for row in found]


def summary(
    connection: sqlite3.Connection,
    found: list[Standing],
    command: str,
    started_at: str,
    duration_s: float,
    attention: Sequence[Attention] = (),
) -> Summary:
    """The summary of a run; environment and provenance are taken from the first submission.

    Args:
        connection: An opened ledger.
        found: The standings of the run, at least one.
        command: The command of this run; the first submission may have been graded by an earlier one.
        started_at: When the run began, in ISO 8601.
        duration_s: Wall-clock seconds.
        attention: Reasons for a person to look at a submission.
    """
    assignment, python, torch, devices, isolation, version, rubric, tests, seed = connection.execute(
        "SELECT assignment, python, torch, devices, isolation, grader_version, rubric_sha256, hidden_tests_sha256, "
        "seed FROM latest JOIN conditions ON conditions.id = latest.conditions WHERE submission = ?",
        (found[0].line.id,),
    ).fetchone()
    return Summary(
        assignment=assignment,
        submissions=[own.line for own in found],
        environment=Environment(python=python, torch=torch, devices=json.loads(devices), isolation=isolation),
        provenance=Provenance(
            grader_version=version,
            rubric_sha256=rubric,
            hidden_tests_sha256=tests,
            seed=seed,
            started_at=started_at,
            duration_s=duration_s,
            command=command,
        ),
        attention=list(attention),
    )


def environments(connection: sqlite3.Connection) -> list[Environment]:
    """The environments of the results of the class; if there are several, results may not be comparable."""
    found = connection.execute(
        "SELECT DISTINCT python, torch, devices, isolation FROM latest "
        "JOIN conditions ON conditions.id = latest.conditions ORDER BY 1, 2, 3, 4"
    )
    return [
        Environment(python=python, torch=torch, devices=json.loads(devices), isolation=isolation)
        for python, torch, devices, isolation in found
    ]


def _line(row: tuple[Any, ...], practice: Practice | None) -> SummaryLine:
    names = ("id", "status", "score", "bonus", "max_score", "max_bonus", "reason")
    *values, origin = row
    return SummaryLine.model_validate(
        {**dict(zip(names, values, strict=True)), "origin": origin_of(origin), "practice": practice}
    )


class PracticeError(Exception):
    """The file is not a list of notebook checks; the message is one line that says why, and what to do."""


def read_practice(path: Path, worth: float) -> dict[str, Practice]:
    """Practice points by student, from the ``checks.csv`` of graded notebooks.

    Args:
        path: A CSV with a line for each check; points are blank where a check never ran.
        worth: The points that all checks together are worth.

    Raises:
        PracticeError: If the file cannot be read, or is not such a CSV.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            students: dict[str, list[dict[str, str]]] = {}
            for row in csv.DictReader(file):
                students.setdefault(row["student_id"].removeprefix("'"), []).append(row)
        return {student: _practice(own, worth) for student, own in students.items()}
    except OSError as error:
        raise PracticeError(f"{path}: {error.strerror}. Give the checks.csv of graded notebooks.") from None
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise PracticeError(
            f"{path}: not a list of checks ({error!r}). Give the checks.csv of graded notebooks."
        ) from None


def _practice(rows: Sequence[Mapping[str, str]], worth: float) -> Practice:
    most = sum(_points(row["max_points"]) for row in rows)
    earned = sum(_points(row["points"]) for row in rows if row["points"])
    unsettled = sorted(f"{row['notebook']}: {row['cell']}" for row in rows if not row["points"])
    return Practice(points=round(worth * earned / most, 2), max_points=worth, unsettled=unsettled)


def _points(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text} points")
    return value
