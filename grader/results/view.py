"""A report as the rubric has it now: outcomes stay, points and words follow from them, and nothing is run."""

from __future__ import annotations

from ..definition import Assignment
from ..rubric import Rubric
from .language import in_language
from .outcome import Outcome
from .report import PropertyReport, Report, TaskReport


def viewed(report: Report, assignment: Assignment, only: str | None, language: str) -> Report:
    """The same outcomes with the points of the present rubric, in a language.

    What the rubric no longer has keeps its points and its words.

    Args:
        report: As a judge or an earlier run made it, in English.
        assignment: Its rubric decides.
        only: The one task that was graded, or None for all.
        language: Of titles, hints and messages.
    """
    rubric = assignment.rubric.only(only)
    tasks = [_rescored(task, rubric) for task in report.tasks]
    bonus = {task.id for task in rubric.tasks if task.bonus}
    graded = report.status == "graded"
    now = report.model_copy(
        update={
            "tasks": tasks,
            "score": sum(task.score for task in tasks if task.id not in bonus) if graded else None,
            "max_score": rubric.max_score,
            "bonus": sum(task.score for task in tasks if task.id in bonus) if graded else None,
            "max_bonus": rubric.max_bonus,
            "provenance": report.provenance.model_copy(update={"rubric_sha256": rubric.sha256}),
        }
    )
    return in_language(now, assignment, language)


def _rescored(task: TaskReport, rubric: Rubric) -> TaskReport:
    properties = [_worth(prop, rubric) for prop in task.properties]
    totals = {
        "properties": properties,
        "score": sum(prop.points for prop in properties),
        "max_score": sum(prop.max_points for prop in properties),
    }
    return task.model_copy(update=totals)


def _worth(prop: PropertyReport, rubric: Rubric) -> PropertyReport:
    known = rubric.properties.get(prop.id)
    if known is None:
        return prop
    points = known.points if prop.outcome is Outcome.PASSED else 0.0
    return prop.model_copy(update={"points": points, "max_points": known.points})
