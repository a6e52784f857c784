"""The assignment that the commands of this process are about."""

from __future__ import annotations

from grader.core.assignment import Assignment

_chosen: list[Assignment] = []


def choose(assignment: Assignment) -> None:
    """Let all commands of this process be about an assignment."""
    _chosen[:] = [assignment]


def chosen() -> Assignment:
    """The assignment that was chosen last.

    Raises:
        LookupError: If none was chosen.
    """
    if not _chosen:
        raise LookupError("no assignment was chosen: call choose(ASSIGNMENT) before any command")
    return _chosen[0]
