"""Turns submitted forms into decisions in the book."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from grader.core.grades.model import PERSONAL, SEEN, DecisionError
from grader.core.grades.people import key, students
from grader.core.results.report import SummaryLine
from grader.extras.decisions.alike import Group
from grader.extras.decisions.draft import record, repeated

from .classroom import Now

Form = Mapping[str, str]
Said = dict[str, object]


def state(now: Now, submissions: Sequence[str]) -> str:
    """A short text that changes with these submissions and with every decision about one of them."""
    held = [own for one in submissions for own in now.known.book.everything(now.known.line(one))]
    told = "\n".join((*submissions, *(own.decision.identity for own in held)))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def write(now: Now, line: SummaryLine, form: Form, who: str, grader: str = "") -> None:
    """Record the decisions of a form about a submission: ``do`` says what, and other fields what that needs.

    Raises:
        DecisionError: If it makes no sense; the message is one line, and nothing was written.
        OSError: If the file cannot be written.
    """
    if form.get("do") not in ACTIONS:
        raise DecisionError("do: no such decision.")
    said = ACTIONS[form["do"]](now, line, form)
    record(now.known, [{"student": line.id, **own} for own in said], who, grader)


def write_group(now: Now, group: Group, members: Sequence[str], form: Form, who: str, grader: str = "") -> None:
    """Record one decision for all of these members of a group.

    Raises:
        DecisionError: As :func:`write` does.
        OSError: If the file cannot be written.
    """
    if not members:
        raise DecisionError("no submission is checked.")
    said = _override({**form, "what": group.property})
    record(now.known, [{"student": one, **own} for one in members for own in said], who, grader)


def _accept(now: Now, line: SummaryLine, _: Form) -> Sequence[Said]:
    """Accept the result, and decisions whose basis has changed."""
    reasons = next((own.reasons for own in now.queue if own.line.id == line.id), ())
    stale = [own.decision for own in now.known.book.about(line) if own.stale]
    again = [repeated(own) | ({"student": own.student} if own.personal else {}) for own in stale]
    return [*again, {SEEN: tuple(dict.fromkeys(reason.key for reason in reasons))}]


def _override(form: Form) -> Sequence[Said]:
    text = form.get("points", "").strip().replace(",", ".")
    try:
        points = float(text)
    except ValueError:
        raise DecisionError(f"points {text!r}: not a number. Use the form 3 or 2.5.") from None
    return [{"override": form.get("what", ""), "points": points, "why": form.get("why", "")}]


def _comment(form: Form) -> Sequence[Said]:
    place = {"at": form["at"], "code": form["code"]} if form.get("at") else {}
    return [{"comment": form.get("comment", ""), **place}]


def _excuse(now: Now, line: SummaryLine, form: Form) -> Sequence[Said]:
    """One of the submission's students, whom the form names by their place."""
    people = {str(place): own for place, own in enumerate(students(line.id, line.origin))}
    if form.get("student") not in people:
        raise DecisionError("student: not an author of this submission.")
    student = now.known.book.people.name(key(people[form["student"]]))
    return [{"student": student, "excuse": True, "why": form.get("why", "")}]


def _withdraw(now: Now, line: SummaryLine, form: Form) -> Sequence[Said]:
    slot = form.get("what", "")
    held = [own.decision.student for own in now.known.book.everything(line) if own.decision.slot == slot]
    whom = held[0] if held and slot in PERSONAL else line.id
    return [{"student": whom, "withdraw": slot, "why": form.get("why", "")}]


ACTIONS: Final[Mapping[str, Callable[[Now, SummaryLine, Form], Sequence[Said]]]] = {
    "accept": _accept,
    "override": lambda _, __, form: _override(form),
    "comment": lambda _, __, form: _comment(form),
    "excuse": _excuse,
    "withdraw": _withdraw,
}
