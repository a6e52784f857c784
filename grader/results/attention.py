"""Who needs a person: submissions in which something may be wrong that no score shows, with a reason code each."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..intake.submission import Concern
from .outcome import Outcome
from .report import Attention
from .standing import Standing

NEAR_ZERO = 0.05  # of all points: less than any piece that works earns
NOT_BEGUN = (Outcome.NOT_IMPLEMENTED, Outcome.MISSING, Outcome.NOT_ASSESSED)
NEVER_ANSWERED = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.MEMORY_EXCEEDED, Outcome.INVALID_REPLY)


Outcomes = Mapping[str, Sequence[tuple[str, Outcome]]]  # by task: each property with what became of it


def outcomes(connection: sqlite3.Connection) -> dict[str, dict[str, list[tuple[str, Outcome]]]]:
    """What became of each property, by submission and task, in the last run."""
    found: dict[str, dict[str, list[tuple[str, Outcome]]]] = defaultdict(lambda: defaultdict(list))
    for submission, task, prop, outcome in connection.execute(
        "SELECT submission, task, property, outcome FROM latest JOIN properties ON result = latest.id "
        "WHERE status = 'graded' AND outcome <> 'passed' ORDER BY submission, position"
    ):
        found[submission][task].append((prop, Outcome(outcome)))
    return found


def attention(
    standings: Iterable[Standing], concerns: Mapping[str, Sequence[Concern]], lost: Mapping[str, Outcomes]
) -> list[Attention]:
    """Everyone who needs a person, by id.

    Args:
        standings: Of the class.
        concerns: What intake has found out about the files of each.
        lost: As :func:`outcomes` gives them.
    """
    return [
        Attention.model_validate({"id": own.line.id, "code": code, "text": text})
        for own in standings
        for code, text in _reasons(own, concerns.get(own.line.id, ()), lost.get(own.line.id, {}))
    ]


def _reasons(own: Standing, concerns: Sequence[Concern], lost: Outcomes) -> Iterator[tuple[str, str]]:
    line = own.line
    if line.origin and line.origin.source == "roster":
        return  # who handed in nothing
    if line.status != "graded":
        yield line.status, line.reason or ""
    yield from ((concern.code, concern.text) for concern in concerns if line.status == "graded")
    origin = line.origin
    if origin and origin.late and not origin.submitted_at and origin.late_s is None:
        yield "late_without_date", "The platform says that it is late, and not by how much: [policy] counts one day."
    yield from _zeros(own, lost)
    hung = [prop for task in lost.values() for prop, outcome in task if outcome is Outcome.TIMED_OUT]
    if hung:
        yield "timed_out", f"No answer in time: {', '.join(hung)}."


def _zeros(own: Standing, lost: Outcomes) -> Iterator[tuple[str, str]]:
    """Points that are so few that something else than the work may be the reason."""
    for task in own.tasks:
        ended = {outcome for _, outcome in lost.get(task.id, ())}
        if task.score == 0 and ended and ended <= {*NEVER_ANSWERED}:
            how = ", ".join(sorted(ended))
            yield "nothing_ran", f"{task.id}: code is there, and nothing of it gave an answer ({how})."
    line = own.line
    begun = any(outcome not in NOT_BEGUN for task in lost.values() for _, outcome in task)
    if line.score is not None and line.bonus is not None and begun:
        earned, most = line.score + line.bonus, line.max_score + line.max_bonus
        if earned <= NEAR_ZERO * most:
            yield "near_zero", f"{earned:g} of {most:g} points, although code is there."
