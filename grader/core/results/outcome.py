"""The outcomes that a case can have, the result of one case, and the outcome of a property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.core.messages import Message, say
from grader.core.rubric import Rubric

Charges = tuple[tuple[str, ...], ...]  # of each group of properties, one must have lost its points
# What was raised in student code, and where: programs look for these statements.
RAISED = "{exception}: {message}"
RAISED_INSIDE = "{exception}: {message} (raised in {file})"
SYNTAX_ERROR = "{exception}: {message} (the grader runs Python {python})"
APART = "\nCases with {failing} fail; those with {working} pass."  # after the frames of an exception
ALONE = say("alone, in a new process, these are right: other modules or earlier calls change them")
ALL = "\nEach of the {n} cases of this kind fails: the dtype, sizes or mode shown is only an example."
ALSO = say("\nCases with {failing} fail as well.", failing="float32")
FRAME = "\n  {path}:{line} in {function}: {code}"

NOTHING = Message()


class Outcome(StrEnum):
    """How a case or a property ended."""

    PASSED = "passed"
    FAILED = "failed"  # a wrong value
    CRASHED = "crashed"  # an exception in student code, or a process that died
    TIMED_OUT = "timed_out"
    MEMORY_EXCEEDED = "memory_exceeded"
    NOT_IMPLEMENTED = "not_implemented"  # the stub's NotImplementedError
    MISSING = "missing"  # a file or a name is not in the submission
    INVALID_REPLY = "invalid_reply"  # the reply is no plain tensor, or too large
    INCONSISTENT = "inconsistent"  # right answers in one process, and wrong ones to the same calls in another
    NOT_ASSESSED = "not_assessed"  # needs a device that this machine does not have
    GRADER_ERROR = "grader_error"  # a fault of the grader, which never costs a student points


# Outcomes by what they tell of the code.
NOTHING_LOST = (Outcome.PASSED, Outcome.NOT_ASSESSED)
NOT_BEGUN = (Outcome.NOT_IMPLEMENTED, Outcome.MISSING, Outcome.NOT_ASSESSED)
NEVER_ANSWERED = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.MEMORY_EXCEEDED, Outcome.INVALID_REPLY)
NO_MISTAKE = (Outcome.PASSED, Outcome.GRADER_ERROR, *NOT_BEGUN)  # nothing that the student wrote is wrong


@dataclass(frozen=True)
class CaseResult:
    """One case of one property.

    Attributes:
        property_id: The id of the property in the rubric.
        id: The id of the case, such as ``several_groups-float32-cpu``.
        message: For the student; holds no expected value.
        error_ulp: Largest error over all elements, in units in the last place of the output's dtype; if a case compares
            several outputs and all pass, the error of the output that came closest to its limit.
        limit_ulp: The largest error allowed, in the same units.
        elements: How many elements the wrong tensor has, or should have.
        detail: For the assistant only: the traceback of a grader error.
        excuses: For each fault that the case passed over, what gives the result in its place, and who has to
            charge for it.
    """

    property_id: str
    id: str
    outcome: Outcome
    message: Message = NOTHING
    error_ulp: float | None = None
    limit_ulp: float | None = None
    elements: int | None = None
    detail: str = ""
    excuses: tuple[tuple[Callable[[], CaseResult], Charges], ...] = ()


def property_outcome(cases: Sequence[CaseResult]) -> Outcome:
    """The outcome of a property: that of its first case that did not pass, or ``PASSED``.

    It is ``GRADER_ERROR`` if any case has that outcome, or if there is no case. Cases that this machine could not
    assess are left out; a property that has only such cases is ``NOT_ASSESSED``.
    """
    outcomes = [case.outcome for case in cases]
    if not outcomes or Outcome.GRADER_ERROR in outcomes:
        return Outcome.GRADER_ERROR
    assessed = [outcome for outcome in outcomes if outcome is not Outcome.NOT_ASSESSED]
    if not assessed:
        return Outcome.NOT_ASSESSED
    return next((outcome for outcome in assessed if outcome is not Outcome.PASSED), Outcome.PASSED)


def lost(results: Iterable[CaseResult]) -> set[str]:
    """The properties with a case in which something was lost."""
    return {result.property_id for result in results if result.outcome not in NOTHING_LOST}


def by_property(rubric: Rubric, results: Iterable[CaseResult]) -> dict[str, list[CaseResult]]:
    """The cases of each property, in the rubric's order.

    Raises:
        KeyError: If a case is of a property that the rubric does not have.
    """
    found: dict[str, list[CaseResult]] = {identifier: [] for identifier in rubric.properties}
    for result in results:
        found[result.property_id].append(result)
    return found


def is_elsewhere(case: str) -> bool:
    """Whether the id of a case says that the case ran on another device than the CPU."""
    return any(part == "simulated" or part.startswith("cuda") for part in case.split("-"))
