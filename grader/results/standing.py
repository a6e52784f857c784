"""The standing of each submission, which the summary and the table of the class need: from a ledger or from reports."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .ledger_rows import origin_of
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
    """The standings of all submissions of the last run that have a result, sorted by id."""
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
    """The environments that the last run used; if there are several, results may not be comparable."""
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
