"""Finds students who lost points in the same way, from reports alone; no code is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from grader.core.grades.graded import GradedClass
from grader.core.messages import from_data
from grader.core.results.outcome import NO_MISTAKE, Outcome
from grader.core.results.report import PropertyReport, Report

Causes = Mapping[str, str]  # from a property to how it ended and why


def causes_of(known: GradedClass) -> dict[str, Causes]:
    """What each submission of a class lost, and why, in the order of the class."""
    return {line.id: lost(known.as_graded(line.id)) for line in known.lines}


def alike(report: Report, properties: Collection[str], everyone: Mapping[str, Causes]) -> dict[str, list[str]]:
    """For each of these properties that the code failed, the other submissions that failed it by the same cause."""
    others = {other: causes for other, causes in everyone.items() if other != report.submission.id}
    same = {
        name: [other for other, causes in others.items() if causes.get(name) == cause]
        for name, cause in lost(report).items()
        if name in properties
    }
    return {name: found for name, found in same.items() if found}


@dataclass(frozen=True)
class Group:
    """Submissions that lost a property by the same cause, in the order of the class; ``key`` names them in addresses.

    ``mistake`` is the id of the recognised mistake; empty if there is none.
    """

    key: str
    property: str
    mistake: str
    members: Sequence[str]


def groups(everyone: Mapping[str, Causes], decided: Callable[[str, str], bool]) -> list[Group]:
    """The groups of two and more, the largest first, from what each submission lost, in the order of the class.

    Left out is every submission and property about which somebody has ``decided``.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for submission, lost in everyone.items():
        for one in lost.items():
            if not decided(submission, one[0]):
                found.setdefault(one, []).append(submission)
    made = [
        Group(sha256("\0".join(one).encode()).hexdigest()[:12], one[0], mistake_in(one[1]), members)
        for one, members in found.items()
        if len(members) > 1
    ]
    return sorted(made, key=lambda group: (-len(group.members), group.property))


def mistake_in(cause: str) -> str:
    """The id of the mistake in a cause; empty if none was recognised."""
    return cause.partition(" = ")[2]


def lost(report: Report) -> Causes:
    """How each property that the code failed ended, and why; what nobody wrote is no mistake to decide about."""
    return {name: _cause(prop) for name, prop in report.properties.items() if prop.outcome not in NO_MISTAKE}


def _cause(prop: PropertyReport) -> str:
    """The recognised mistake; otherwise the failed cases, and for crashes the exception."""
    if prop.misconception:
        return f"{prop.outcome} = {prop.misconception}"
    failing = [case for case in prop.cases if case.outcome is not Outcome.PASSED]
    raised = [str(from_data(case.parts[:1])) if case.outcome is Outcome.CRASHED else "" for case in failing]
    told = sorted(f"{case.id} {case.outcome} {error}" for case, error in zip(failing, raised, strict=True))
    return f"{prop.outcome}: {'; '.join(told)}"
