"""Finds students who lost points in the same way, from reports alone; no code is run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from grader.core.results.outcome import Outcome
from grader.core.results.report import CaseReport, PropertyReport, Report, message_of

UNGRADED = ""  # in place of a property's id: the submission as a whole has no result


@dataclass(frozen=True)
class Alike:
    """A property, and the other submissions with the same outcome and cause.

    Attributes:
        property: Its id; ``UNGRADED`` if the submission was not graded at all.
        others: Ids of submissions, in the order of the class.
    """

    property: str
    others: list[str] = field(default_factory=list)


def alike(own: Report, properties: Collection[str], classmates: Iterable[Report]) -> list[Alike]:
    """The students who share the cause of each property.

    Args:
        own: The report of the student.
        properties: Ids of the properties in question.
        classmates: The other reports, which may include the student's own.
    """
    causes = _causes(own)
    found = {name: Alike(name) for name in causes if name in properties or name == UNGRADED}
    for other in classmates:
        theirs = _causes(other)
        for name, one in found.items():
            if other.submission.id != own.submission.id and theirs.get(name) == causes[name]:
                one.others.append(other.submission.id)
    return [*found.values()]


def _causes(report: Report) -> dict[str, tuple[object, ...]]:
    """How each property ended and why; of a submission that was not graded, how it ended as a whole."""
    if report.status != "graded":
        return {UNGRADED: (report.status, report.reason)}
    return {prop.id: _cause(prop) for task in report.tasks for prop in task.properties}


def _cause(prop: PropertyReport) -> tuple[object, ...]:
    """The recognised mistake; otherwise the failed cases, and for crashes the exception."""
    if prop.misconception:
        return prop.outcome, prop.misconception
    failing = [case for case in prop.cases if case.outcome is not Outcome.PASSED]
    told = ((case.id, case.outcome, _exception(case)) for case in failing)
    return prop.outcome, frozenset(told)


def _exception(case: CaseReport) -> str:
    return str(message_of(case.parts[:1])) if case.outcome is Outcome.CRASHED else ""
