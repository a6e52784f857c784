"""A report as the rubric has it now, or as people decided: outcomes stay, points and words change, nothing is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric

from .language import in_language
from .outcome import Outcome
from .report import PropertyReport, Report, TaskReport


def viewed(report: Report, assignment: Assignment, only: str | None, language: str) -> Report:
    """The same outcomes with the points of the present rubric, in a language.

    The report is in English, as a judge or an earlier run made it; ``only`` is the one task that was graded. What the
    rubric no longer has keeps its points and its words.
    """
    rubric = assignment.rubric.only(only)
    tasks = [_summed(task, [_worth(prop, rubric) for prop in task.properties]) for task in report.tasks]
    now = report.model_copy(
        update={
            "tasks": tasks,
            **(_totals(tasks, rubric) if report.status == "graded" else {}),
            "max_score": rubric.max_score,
            "max_bonus": rubric.max_bonus,
            "provenance": report.provenance.model_copy(update={"rubric_sha256": rubric.sha256}),
        }
    )
    return in_language(now, assignment, language)


def overridden(report: Report, points: Mapping[str, float], rubric: Rubric) -> Report:
    """The same outcomes with points that people decided on, never more than there are to earn.

    ``points`` has keys that are ids of properties or tasks, or ``score`` and ``bonus``. An ungraded submission that is
    given a score counts as graded, with no properties.
    """
    if not points or (report.status != "graded" and "score" not in points):
        return report
    tasks = [_summed(task, [_decided(prop, points) for prop in task.properties]) for task in report.tasks]
    tasks = [task.model_copy(update={"score": min(points.get(task.id, task.score), task.max_score)}) for task in tasks]
    totals = _totals(tasks, rubric) if report.status == "graded" else {"score": 0.0, "bonus": 0.0}
    most = {"score": report.max_score, "bonus": report.max_bonus}
    totals |= {name: min(points[name], most[name]) for name in totals if name in points}
    return report.model_copy(update={"tasks": tasks, "status": "graded", **totals})


def _totals(tasks: Sequence[TaskReport], rubric: Rubric) -> dict[str, float]:
    bonus = {task.id for task in rubric.tasks if task.bonus}
    return {
        "score": sum(task.score for task in tasks if task.id not in bonus),
        "bonus": sum(task.score for task in tasks if task.id in bonus),
    }


def _summed(task: TaskReport, properties: list[PropertyReport]) -> TaskReport:
    totals = {
        "properties": properties,
        "score": sum(prop.points for prop in properties),
        "max_score": sum(prop.max_points for prop in properties),
    }
    return task.model_copy(update=totals)


def _decided(prop: PropertyReport, points: Mapping[str, float]) -> PropertyReport:
    return prop.model_copy(update={"points": min(points.get(prop.id, prop.points), prop.max_points)})


def _worth(prop: PropertyReport, rubric: Rubric) -> PropertyReport:
    known = rubric.properties.get(prop.id)
    if known is None:
        return prop
    points = known.points if prop.outcome is Outcome.PASSED else 0.0
    return prop.model_copy(update={"points": points, "max_points": known.points})
