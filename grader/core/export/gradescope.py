"""``results.json`` as Gradescope's autograder leaves it.

Hidden tests, and with them the score, are shown when grades are published: results at once would make a search for
answers of every new upload. What cannot be read gets zero points and one visible test that says why. If the grader
itself failed, there is neither score nor test, so Gradescope enters no grade.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.core.results.outcome import Outcome
from grader.core.results.policy import Grade
from grader.core.results.report import PropertyReport, Report

from .rows import Row

_TEXT = {"output_format": "text"}
FAILURE = (
    "The autograder failed to grade this submission. This is not your fault and costs you no points; staff can see why."
)
HIDDEN_UNTIL = "after_published"  # or after_due_date, hidden, visible; Gradescope hides the score with a hidden test


def results(row: Row) -> dict[str, Any]:
    """What Gradescope shows for one submission."""
    report, grade = row.report, row.grade
    content = _frame(
        report.provenance.duration_s, {"status": report.status, "environment": report.environment.model_dump()}
    )
    if report.status == "unreadable":
        return content | {"score": 0.0, "output": report.reason, "tests": [_unread(report)]}
    if grade is None:
        return content | {"output": FAILURE}
    return content | {
        "score": grade.points,
        "output": "\n".join(report.submission.notices),
        "tests": [*_tests(report), _total(report, grade)],
    }


def failure(reason: str) -> dict[str, Any]:
    """What Gradescope shows when the autograder itself fails; only staff see the reason."""
    return _frame(0.0, {"status": "grader_error", "reason": reason}) | {"output": FAILURE}


def _frame(duration_s: float, extra: dict[str, Any]) -> dict[str, Any]:
    return {
        "execution_time": round(duration_s, 3),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": extra,
    }


def _unread(report: Report) -> dict[str, Any]:
    name = "Your submission can be read"
    scores = {"score": 0.0, "max_score": report.max_score}
    return _TEXT | scores | {"name": name, "status": "failed", "output": report.reason, "visibility": "visible"}


def _total(report: Report, grade: Grade) -> dict[str, Any]:
    """A last line that says how the score came about; it is hidden with the score."""
    told = filter(None, (f"Score {report.score:g}/{report.max_score:g}, bonus {report.bonus:g}.", grade.remark))
    return _TEXT | {"name": "Total", "output": " ".join(told), "visibility": HIDDEN_UNTIL}


def _tests(report: Report) -> Iterator[dict[str, Any]]:
    for place, task in enumerate(report.tasks, 1):
        for line, prop in enumerate(task.properties, 1):
            yield {
                **_TEXT,
                "name": f"{task.title}: {prop.title}",
                "number": f"{place}.{line}",
                "score": prop.points,
                "max_score": prop.max_points,
                "status": "passed" if prop.outcome is Outcome.PASSED else "failed",
                "output": _explained(prop),
                "tags": [task.id, str(prop.outcome)],
                "visibility": HIDDEN_UNTIL,
                "extra_data": {"id": prop.id, "misconception": prop.misconception},
            }


def _explained(prop: PropertyReport) -> str:
    """The hint, and what the simplest failing case says."""
    if prop.outcome is Outcome.PASSED:
        return ""
    case = prop.simplest_case
    return "\n".join(filter(None, [prop.hint, f"{case.id}: {case.message}" if case and case.message else ""]))
