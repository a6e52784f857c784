"""A report as rows of the ledger's tables; each row maps columns to values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..intake.origin import Origin
from .outcome import Outcome
from .report import MessagePart, PropertyReport, Report

MAX_MESSAGE = 500  # characters of a case's message that the ledger keeps; the report has the whole message
Row = Mapping[str, object]


def conditions_row(report: Report) -> Row:
    """Where and how the submission was graded."""
    where, how = report.environment, report.provenance
    return {
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


def result_row(report: Report) -> Row:
    """The result of the submission; it can be used again unless the grader failed."""
    own = report.submission
    return {
        "submission": own.id,
        "reusable": report.status != "grader_error",
        "sha256": own.sha256,
        "status": report.status,
        "reason": report.reason,
        "reason_parts": _data(report.reason_parts),
        "score": report.score,
        "max_score": report.max_score,
        "bonus": report.bonus,
        "max_bonus": report.max_bonus,
        "notices": json.dumps(own.notices, ensure_ascii=False),
        "started_at": report.provenance.started_at,
        "duration_s": report.provenance.duration_s,
        **origin_row(own.origin),
    }


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


def task_rows(report: Report) -> Iterator[Row]:
    """A row for each task."""
    for position, task in enumerate(report.tasks):
        yield {"position": position, "task": task.id, "score": task.score, "max_score": task.max_score}


def property_rows(report: Report) -> Iterator[Row]:
    """A row for each property; unless it passed, the row has the message of the property's simplest case."""
    lines = ((task, prop) for task in report.tasks for prop in task.properties)
    for position, (task, prop) in enumerate(lines):
        yield {
            "position": position,
            "task": task.id,
            "property": prop.id,
            "points": prop.points,
            "max_points": prop.max_points,
            "outcome": prop.outcome.value,
            "misconception": prop.misconception,
            **_message(prop),
        }


def _message(prop: PropertyReport) -> Row:
    case = prop.simplest_case
    if case is None or prop.outcome is Outcome.PASSED:
        return {"message": None, "parts": None}
    return {"message": case.message[:MAX_MESSAGE], "parts": _data(case.parts)}


def _data(parts: Sequence[MessagePart]) -> str | None:
    return json.dumps([part.model_dump() for part in parts], ensure_ascii=False) if parts else None
