"""Finds submissions that a person should look at, since the score may be unfair; each reason has a code."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

from grader.core.intake.origin import absent
from grader.core.intake.submission import concern_of
from grader.core.messages import Message, MessagePart, as_data, from_data, quoted, say
from grader.core.rubric import LatePenalty

from .outcome import NEVER_ANSWERED, NOT_BEGUN, Outcome
from .report import Attention, Report

NEAR_ZERO = 0.05  # share of all points; a submission in which one piece works earns more
OURS = sys.stdlib_module_names | {"torch"}
NO_PENALTY = LatePenalty()
NO_THREAD = "can't start new thread"  # as Python says it
BY_OUTCOME = {  # reasons that are outcomes of properties
    Outcome.TIMED_OUT: say("Timed out: {names}."),
    Outcome.INCONSISTENT: say("Different answers to the same calls in another process: {names}."),
}
LATE = say("The platform marks it late, but does not say by how much: [policy] counts one day.")
NOTHING_RAN = "{name}: no property of this task produced a result ({how}), although code was submitted."


def attention(report: Report, penalty: LatePenalty = NO_PENALTY) -> list[Attention]:
    """Every reason for a person to look at a submission, from its report in English.

    Where lateness costs nothing, nobody has to find out by how much a submission is late.
    """
    return [
        Attention.model_validate({"id": report.submission.id, "code": code, "text": str(text), "parts": as_data(text)})
        for code, text in _reasons(report, penalty)
    ]


def _reasons(report: Report, penalty: LatePenalty) -> Iterator[tuple[str, Message]]:
    origin = report.submission.origin
    if absent(origin):
        return
    if report.status != "graded":
        yield report.status, _message(report.reason or "", report.reason_parts)
    else:
        notices = map(from_data, filter(None, report.submission.notice_parts))
        yield from ((code, notice) for notice in notices if (code := concern_of(notice)))
    if penalty != NO_PENALTY and origin and origin.late and not origin.submitted_at and origin.late_s is None:
        yield "late_without_date", LATE
    if report.status == "graded":
        yield from _elsewhere(report)
        yield from _zeros(report)
        for outcome, told in BY_OUTCOME.items():
            if names := [name for name, prop in report.properties.items() if prop.outcome is outcome]:
                yield outcome.value, told.filled(names=", ".join(names))


def _message(text: str, parts: Sequence[MessagePart]) -> Message:
    """A text of a report with its parts; those of earlier versions have none."""
    return from_data(parts) if parts else quoted(text)


def _elsewhere(report: Report) -> Iterator[tuple[str, Message]]:
    """Crashes of which the grader's machine may be the cause rather than the code: one reason for each cause."""
    causes: dict[Message, dict[str, None]] = defaultdict(dict)  # from a cause to tasks, each once
    for task in report.tasks:
        cases = (prop.simplest_case for prop in task.properties if prop.outcome is not Outcome.PASSED)
        for cause in filter(None, (_cause(_message(case.message, case.parts)) for case in cases if case)):
            causes[cause][task.id] = None
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


def _zeros(report: Report) -> Iterator[tuple[str, Message]]:
    """Scores so low that something else than the quality of the work may be the cause."""
    lost = {task.id: {prop.outcome for prop in task.properties} - {Outcome.PASSED} for task in report.tasks}
    for task in report.tasks:
        ended = lost[task.id]
        if task.score == 0 and ended & {*NEVER_ANSWERED} and ended <= {*NEVER_ANSWERED, *NOT_BEGUN}:
            yield "nothing_ran", say(NOTHING_RAN, name=task.id, how=", ".join(sorted(ended)))
    begun = any(ended - {*NOT_BEGUN} for ended in lost.values())
    if report.score is not None and report.bonus is not None and begun:
        earned, most = report.score + report.bonus, report.max_score + report.max_bonus
        if earned <= NEAR_ZERO * most:
            told = say("{n} of {all} points, although code was submitted.", n=f"{earned:g}", all=f"{most:g}")
            yield "near_zero", told
