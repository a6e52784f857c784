"""Finds submissions that a person should look at, since the score may be unfair; each reason has a code."""

from __future__ import annotations

import itertools
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..intake.submission import Concern
from .outcome import Outcome
from .report import Attention
from .standing import Standing

NEAR_ZERO = 0.05  # share of all points; a submission in which one piece works earns more
NOT_BEGUN = (Outcome.NOT_IMPLEMENTED, Outcome.MISSING, Outcome.NOT_ASSESSED)
NEVER_ANSWERED = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.MEMORY_EXCEEDED, Outcome.INVALID_REPLY)


# Messages of crashes of which the grader's machine may be the cause, with what is said about them.
NOT_FOUND = re.compile(r"ModuleNotFoundError: No module named '(\w+)[\w.]*'")
ELSEWHERE = (
    (NOT_FOUND, "The module {0} belongs to Python or torch, and was not found here"),
    (re.compile(r"\w+: .* \(raised in torch/"), "torch could not open a file or folder here"),
    (re.compile(r"RuntimeError: can't start new thread"), "Student code may start no thread here"),
    (
        re.compile(r"SyntaxError: .* \(the grader runs Python (\d+\.\d+)\)"),
        "Python {0} does not know this syntax; look whether a newer Python does",
    ),
)
OURS = sys.stdlib_module_names | {"torch"}

# From a task's id to properties: their ids, outcomes and messages.
Outcomes = Mapping[str, Sequence[tuple[str, Outcome, str]]]


def outcomes(connection: sqlite3.Connection) -> dict[str, dict[str, list[tuple[str, Outcome, str]]]]:
    """The properties that did not pass in the last run: from a submission's id to its :data:`Outcomes`."""
    found: dict[str, dict[str, list[tuple[str, Outcome, str]]]] = defaultdict(lambda: defaultdict(list))
    for submission, task, prop, outcome, message in connection.execute(
        "SELECT submission, task, property, outcome, message FROM latest JOIN properties ON result = latest.id "
        "WHERE status = 'graded' AND outcome <> 'passed' ORDER BY submission, position"
    ):
        found[submission][task].append((prop, Outcome(outcome), message or ""))
    return found


def attention(
    standings: Iterable[Standing], concerns: Mapping[str, Sequence[Concern]], lost: Mapping[str, Outcomes]
) -> list[Attention]:
    """Every reason for a person to look at a submission, in the order of the standings.

    Args:
        standings: The standings of the class.
        concerns: From a submission's id to what intake has noticed about its files.
        lost: From a submission's id to the properties that did not pass, as :func:`outcomes` gives them.
    """
    return [
        Attention.model_validate({"id": own.line.id, "code": code, "text": text})
        for own in standings
        for code, text in _reasons(own, concerns.get(own.line.id, ()), lost.get(own.line.id, {}))
    ]


def _reasons(own: Standing, concerns: Sequence[Concern], lost: Outcomes) -> Iterator[tuple[str, str]]:
    line = own.line
    if line.origin and line.origin.source == "roster":
        return  # a student of the roster who handed in nothing
    if line.status != "graded":
        yield line.status, line.reason or ""
    yield from ((concern.code, concern.text) for concern in concerns if line.status == "graded")
    origin = line.origin
    if origin and origin.late and not origin.submitted_at and origin.late_s is None:
        yield "late_without_date", "The platform says that it is late, and not by how much: [policy] counts one day."
    yield from _elsewhere(lost)
    yield from _zeros(own, lost)
    if hung := _with(lost, Outcome.TIMED_OUT):
        yield "timed_out", f"No answer in time: {hung}."
    if otherwise := _with(lost, Outcome.INCONSISTENT):
        yield "inconsistent", f"Other answers to the same calls in another process: {otherwise}."


def _with(lost: Outcomes, wanted: Outcome) -> str:
    """The properties with that outcome."""
    return ", ".join(prop for task in lost.values() for prop, outcome, _ in task if outcome is wanted)


def _elsewhere(lost: Outcomes) -> Iterator[tuple[str, str]]:
    """Crashes of which the grader's machine may be the cause rather than the code: one reason for each cause."""
    causes: dict[str, dict[str, None]] = defaultdict(dict)  # from a cause to tasks, each once
    for task, properties in lost.items():
        for (_, _, message), (pattern, text) in itertools.product(properties, ELSEWHERE):
            found = pattern.match(message)
            if found and (pattern is not NOT_FOUND or found[1] in OURS):
                causes[text.format(*found.groups())][task] = None
    yield from (("environment", f"{', '.join(tasks)}: {cause}.") for cause, tasks in causes.items())


def _zeros(own: Standing, lost: Outcomes) -> Iterator[tuple[str, str]]:
    """Scores so low that something else than the quality of the work may be the cause."""
    for task in own.tasks:
        ended = {outcome for _, outcome, _ in lost.get(task.id, ())}
        if task.score == 0 and ended & {*NEVER_ANSWERED} and ended <= {*NEVER_ANSWERED, *NOT_BEGUN}:
            how = ", ".join(sorted(ended))
            yield "nothing_ran", f"{task.id}: code is there, and nothing of it gave an answer ({how})."
    line = own.line
    begun = any(outcome not in NOT_BEGUN for task in lost.values() for _, outcome, _ in task)
    if line.score is not None and line.bonus is not None and begun:
        earned, most = line.score + line.bonus, line.max_score + line.max_bonus
        if earned <= NEAR_ZERO * most:
            yield "near_zero", f"{earned:g} of {most:g} points, although code is there."
