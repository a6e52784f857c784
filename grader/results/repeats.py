"""One mistake that ends many properties alike is explained once."""

from __future__ import annotations

from .outcome import Outcome
from .report import PropertyReport, Report


def repeats(report: Report) -> dict[str, list[PropertyReport]]:
    """The properties that ended exactly like an earlier one of their task, such as by the same exception, by its id.

    Wrong results are never taken together: each has a hint of its own.
    """
    found: dict[str, list[PropertyReport]] = {}
    for task in report.tasks:
        first: dict[tuple[str, ...], PropertyReport] = {}
        for prop in task.properties:
            if prop.outcome in (Outcome.PASSED, Outcome.FAILED):
                continue
            ending = (prop.outcome, prop.hint, prop.evidence.message if prop.evidence else "")
            if (like := first.setdefault(ending, prop)) is not prop:
                found.setdefault(like.id, []).append(prop)
    return found
