"""What a person would decide to follow another grading: overrides that give points, and none that takes any."""

from __future__ import annotations

from collections.abc import Iterator

from grader.core.results.report import PropertyReport, Report

Override = tuple[str, float]  # a property's id, ``score`` or ``bonus``, and its points


def gains(before: Report, now: Report) -> list[Override]:
    """The overrides that give the student the points gained by the new grading.

    Properties that are only worth more by now are left out: that concerns everyone, and a regrade of the class does it.

    Args:
        before: The report that holds, with the points that people decided on.
        now: The report of the new grading.
    """
    if now.score is None or now.bonus is None:
        return []
    if before.status != "graded":
        return [("score", now.score), *([("bonus", now.bonus)] if now.bonus else [])]
    return [
        (own.id, points)
        for was, own in _both(before, now)
        if own.outcome is not was.outcome and (points := min(own.points, was.max_points)) > was.points
    ]


def losses(before: Report, now: Report) -> list[str]:
    """The properties for which the new grading gives less, although they are worth the same."""
    return [own.id for was, own in _both(before, now) if own.outcome is not was.outcome and own.points < was.points]


def _both(before: Report, now: Report) -> Iterator[tuple[PropertyReport, PropertyReport]]:
    """Each property in both reports: the old result and the new one."""
    known = {prop.id: prop for task in before.tasks for prop in task.properties}
    for task in now.tasks:
        for prop in task.properties:
            if prop.id in known:
                yield known[prop.id], prop
