"""Finds submissions that a person should look at, since the score may be unfair; each reason has a code."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.core.intake.submission import Concern
from grader.core.messages import Message, as_data, from_data, quoted, say

from .outcome import Outcome
from .report import Attention, parts_of
from .standing import Standing

NEAR_ZERO = 0.05  # share of all points; a submission in which one piece works earns more
NOT_BEGUN = (Outcome.NOT_IMPLEMENTED, Outcome.MISSING, Outcome.NOT_ASSESSED)
NEVER_ANSWERED = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.MEMORY_EXCEEDED, Outcome.INVALID_REPLY)
OURS = sys.stdlib_module_names | {"torch"}
NO_THREAD = "can't start new thread"  # as Python says it

# From a task's id to properties: their ids, outcomes and messages.
Outcomes = Mapping[str, Sequence[tuple[str, Outcome, Message]]]


def outcomes(connection: sqlite3.Connection) -> dict[str, dict[str, list[tuple[str, Outcome, Message]]]]:
    """The properties that did not pass: from a submission's id to its :data:`Outcomes`."""
    found: dict[str, dict[str, list[tuple[str, Outcome, Message]]]] = defaultdict(lambda: defaultdict(list))
    for submission, task, prop, outcome, message, parts in connection.execute(
        "SELECT submission, task, property, outcome, message, parts FROM latest JOIN properties ON result = latest.id "
        "WHERE status = 'graded' AND outcome <> 'passed' ORDER BY submission, position"
    ):
        found[submission][task].append((prop, Outcome(outcome), _message(message, parts)))
    return found


def reasons(connection: sqlite3.Connection) -> dict[str, Message]:
    """Why submissions of the class were not graded: from a submission's id to the reason."""
    found = connection.execute(
        "SELECT submission, reason, reason_parts FROM latest WHERE status <> 'graded' AND reason IS NOT NULL"
    )
    return {submission: _message(reason, parts) for submission, reason, parts in found}


def concerns(connection: sqlite3.Connection) -> dict[str, list[Concern]]:
    """What intake noticed about the submissions of the class, by their ids."""
    found = connection.execute("SELECT submission, concerns FROM latest WHERE concerns IS NOT NULL")
    return {own: [Concern(code, from_data(text)) for code, text in json.loads(noticed)] for own, noticed in found}


def concerns_as_data(noticed: Iterable[Concern]) -> str:
    """What :func:`concerns` reads."""
    return json.dumps([(one.code, as_data(one.text)) for one in noticed], ensure_ascii=False)


def _message(text: str | None, parts: str | None) -> Message:
    """A message of the ledger; results of earlier versions have no parts."""
    return from_data(json.loads(parts)) if parts else quoted(text or "")


def attention(
    standings: Iterable[Standing],
    concerns: Mapping[str, Sequence[Concern]],
    lost: Mapping[str, Outcomes],
    reasons: Mapping[str, Message],
) -> list[Attention]:
    """Every reason for a person to look at a submission, in the order of the standings.

    Args:
        standings: The standings of the class.
        concerns: From a submission's id to what intake has noticed about its files.
        lost: From a submission's id to the properties that did not pass, as :func:`outcomes` gives them.
        reasons: From a submission's id to why it was not graded, as :func:`reasons` gives them.
    """
    found = (
        (own.line.id, *reason)
        for own in standings
        for reason in _reasons(
            own,
            concerns.get(own.line.id, ()),
            lost.get(own.line.id, {}),
            reasons.get(own.line.id) or quoted(own.line.reason or ""),
        )
    )
    return [
        Attention.model_validate({"id": identifier, "code": code, "text": str(text), "parts": parts_of(text)})
        for identifier, code, text in found
    ]


def _reasons(own: Standing, concerns: Sequence[Concern], lost: Outcomes, why: Message) -> Iterator[tuple[str, Message]]:
    line = own.line
    if line.origin and line.origin.source == "roster":
        return  # a student of the roster who handed in nothing
    if line.status != "graded":
        yield line.status, why
    yield from ((concern.code, concern.text) for concern in concerns if line.status == "graded")
    origin = line.origin
    if origin and origin.late and not origin.submitted_at and origin.late_s is None:
        yield (
            "late_without_date",
            say("The platform marks it late, but does not say by how much: [policy] counts one day."),
        )
    yield from _elsewhere(lost)
    yield from _zeros(own, lost)
    if hung := _with(lost, Outcome.TIMED_OUT):
        yield "timed_out", say("Timed out: {names}.", names=hung)
    if otherwise := _with(lost, Outcome.INCONSISTENT):
        yield "inconsistent", say("Different answers to the same calls in another process: {names}.", names=otherwise)


def _with(lost: Outcomes, wanted: Outcome) -> str:
    """The properties with that outcome."""
    return ", ".join(prop for task in lost.values() for prop, outcome, _ in task if outcome is wanted)


def _elsewhere(lost: Outcomes) -> Iterator[tuple[str, Message]]:
    """Crashes of which the grader's machine may be the cause rather than the code: one reason for each cause."""
    causes: dict[Message, dict[str, None]] = defaultdict(dict)  # from a cause to tasks, each once
    for task, properties in lost.items():
        for cause in filter(None, (_cause(message) for _, _, message in properties)):
            causes[cause][task] = None
    yield from (("environment", cause.filled(names=", ".join(tasks))) for cause, tasks in causes.items())


def _cause(message: Message) -> Message | None:
    """What about the grader's machine may have led to a crash; None if it was the code itself."""
    fields = next((part.fields for part in message.parts if "exception" in part.fields), {})
    package, _, _ = str(fields.get("module", "")).partition(".")
    if package in OURS:
        return say("{names}: the module {name} belongs to Python or torch, but is not installed here.", name=package)
    if str(fields.get("file", "")).startswith("torch/"):
        return say("{names}: torch could not open a file or folder here.")
    if (fields.get("exception"), fields.get("message")) == ("RuntimeError", NO_THREAD):
        return say("{names}: student code may not start threads here.")
    if "python" in fields:
        return say(
            "{names}: Python {n} does not support this syntax; check whether a newer Python does.", n=fields["python"]
        )
    return None


def _zeros(own: Standing, lost: Outcomes) -> Iterator[tuple[str, Message]]:
    """Scores so low that something else than the quality of the work may be the cause."""
    for task in own.tasks:
        ended = {outcome for _, outcome, _ in lost.get(task.id, ())}
        if task.score == 0 and ended & {*NEVER_ANSWERED} and ended <= {*NEVER_ANSWERED, *NOT_BEGUN}:
            how = ", ".join(sorted(ended))
            yield (
                "nothing_ran",
                say(
                    "{name}: no property of this task produced a result ({how}), although code was submitted.",
                    name=task.id,
                    how=how,
                ),
            )
    line = own.line
    begun = any(outcome not in NOT_BEGUN for task in lost.values() for _, outcome, _ in task)
    if line.score is not None and line.bonus is not None and begun:
        earned, most = line.score + line.bonus, line.max_score + line.max_bonus
        if earned <= NEAR_ZERO * most:
            told = say("{n} of {all} points, although code was submitted.", n=f"{earned:g}", all=f"{most:g}")
            yield "near_zero", told
