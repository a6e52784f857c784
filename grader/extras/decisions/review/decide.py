"""Turns submitted forms into decisions in the book."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from grader.core.grades.graded import DecisionError
from grader.core.grades.people import key, students
from grader.core.results.report import SummaryLine
from grader.extras.decisions.model import PERSONAL, SEEN
from grader.extras.decisions.placing import repeated

from .classroom import Now

Form = Mapping[str, str]
Said = dict[str, object]


def state(now: Now, submissions: Sequence[str]) -> str:
    """A short text that changes with these submissions and with every decision about one of them."""
    held = [ruling for one in submissions for ruling in now.known.book.everything(now.known.line(one))]
    told = "\n".join((*submissions, *(ruling.decision.identity for ruling in held)))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def asked(now: Now, line: SummaryLine, form: Form) -> list[Said]:
    """The decisions that a form about a submission asks for: ``do`` says what, and other fields what that needs.

    Raises:
        DecisionError: If it makes no sense; the message is one line.
    """
    book, what, why = now.known.book, form.get("what", ""), form.get("why", "")
    said: list[Said]
    match form.get("do"):
        case "accept":  # the result, and decisions whose basis has changed
            stale = [ruling.decision for ruling in book.about(line) if ruling.stale]
            again = [repeated(old) | ({"student": old.student} if old.personal else {}) for old in stale]
            reasons = next((place.reasons for place in now.queue if place.line.id == line.id), ())
            said = [*again, {SEEN: tuple(dict.fromkeys(reason.key for reason in reasons))}]
        case "override":
            said = [override(what, form)]
        case "comment":
            place = {"at": form["at"], "code": form["code"]} if form.get("at") else {}
            said = [{"comment": form.get("comment", ""), **place}]
        case "excuse":  # one of the submission's students, whom the form names by their place
            people = {str(place): student for place, student in enumerate(students(line.id, line.origin))}
            if form.get("student") not in people:
                raise DecisionError("student: not an author of this submission.")
            said = [{"student": book.people.name(key(people[form["student"]])), "excuse": True, "why": why}]
        case "withdraw":
            held = [ruling.decision.student for ruling in book.everything(line) if ruling.decision.slot == what]
            whom = held[0] if held and what in PERSONAL else line.id
            said = [{"student": whom, "withdraw": what, "why": why}]
        case _:
            raise DecisionError("do: no such decision.")
    return [{"student": line.id, **one} for one in said]


def override(what: str, form: Form) -> Said:
    """The decision about points in a form.

    Raises:
        DecisionError: If they are no number.
    """
    text = form.get("points", "").strip().replace(",", ".")
    try:
        points = float(text)
    except ValueError:
        raise DecisionError(f"points {text!r}: not a number. Use the form 3 or 2.5.") from None
    return {"override": what, "points": points, "why": form.get("why", "")}
