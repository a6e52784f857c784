"""One mistake that ends many properties alike is explained once."""

from __future__ import annotations

from .outcome import Outcome
from .report import PropertyReport, Report


def same_as(report: Report) -> dict[str, PropertyReport]:
    """For a property that ended exactly like an earlier one of its task, such as by the same exception: that one.

    Wrong results are never taken together: each has a hint of its own.
    """
    found: dict[str, PropertyReport] = {}
    for task in report.tasks:
        first: dict[tuple[str, ...], PropertyReport] = {}
        for prop in task.properties:
            ending = (prop.outcome, prop.hint, prop.evidence.message if prop.evidence else "")
            if prop.outcome in (Outcome.PASSED, Outcome.FAILED) or first.setdefault(ending, prop) is prop:
                continue
            found[prop.id] = first[ending]
    return found
