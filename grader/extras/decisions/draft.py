"""A new decision: checked against the class, with a permanent name for the student, and with its basis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import ValidationError

from grader.core.grades.decided import Book, DecidedClass, Read
from grader.core.grades.model import EVERYONE, PERSONAL, Decision, DecisionError, Ground, Ruling
from grader.core.grades.people import People, Unknown, key, students
from grader.core.results.report import first_problem
from grader.core.rubric import Policy
from grader.extras.decisions.placing import parts, placed

from .file import append


def drafted(said: Mapping[str, object], book: Book, read: Read, policy: Policy) -> Ruling:
    """A decision that can be appended to the file, from the fields of a :class:`Decision`, the student as typed.

    Raises:
        DecisionError: If it makes no sense for this class.
    """
    try:
        decision = Decision.model_validate(said)
    except ValidationError as error:
        raise DecisionError(f"{first_problem(error)}.") from None
    student = decision.student
    if student != EVERYONE:
        decision = decision.model_copy(update={"student": _whom(student, decision, book.people)})
    (own,) = placed([Ruling(decision, 0)], book.people, read, policy)
    if own.void:
        raise DecisionError(f"{student}: {decision.slot}: {own.stale}.")
    held = [ruling.decision for one in own.about for ruling in book.held.get(one, ())]
    same = [other for other in held if other.slot == decision.slot]
    if decision.withdraw and not same:
        raise DecisionError(f"{student}: {decision.slot}: no such decision to withdraw.")
    if decision.override and decision.points is not None:
        most = parts(read(str(own.about[0])))[decision.override].most
        if decision.points > most:
            raise DecisionError(f"{decision.points:g} points: {decision.override} has only {most:g}.")
    over = next((other.author for other in same if other.who != decision.who), "")
    ground = (own.now or Ground()).model_copy(update={"over": over}) if over else own.now
    return replace(own, decision=decision.model_copy(update={"ground": ground}))


def record(known: DecidedClass, wanted: Sequence[Mapping[str, object]], who: str, grader: str) -> list[Ruling]:
    """Append decisions to the file of a grader, or the one that all share, all of them or none.

    ``wanted`` has the fields of each, but for who decided, and when.

    Raises:
        DecisionError: If one of them makes no sense for this class.
        OSError: If the file cannot be written.
    """
    common: dict[str, object] = {"who": who, "when": datetime.now(UTC).astimezone()}
    made = [drafted(common | {**own}, known.book, known.as_graded, known.rubric.policy) for own in wanted]
    append(known.folder, [own.decision for own in made], _named(known.book.people, made), grader)
    return made


def repeated(own: Decision) -> dict[str, object]:
    """The decision and its reason, to be repeated by another author, at another time, on a new basis."""
    return {own.what: getattr(own, own.what), **{name: getattr(own, name) for name in ("points", "why", "at", "code")}}


def _named(people: People, made: Sequence[Ruling]) -> list[str]:
    """The subjects of each decision, for readers of the file: names, and ids of submissions."""
    each = ([people.known[one].name if isinstance(one, tuple) else one for one in own.about] for own in made)
    return [", ".join(dict.fromkeys(name for name in names if name and name != EVERYONE)) for names in each]


def _whom(text: str, decision: Decision, people: People) -> str:
    """The student's name in the file: a permanent id instead of the typed text."""
    try:
        if decision.slot in PERSONAL:
            found = people.students(text)
            if len(found) > 1:
                names = ", ".join(map(people.name, found))
                raise DecisionError(f"{text}: belongs to several students. Choose one of {names}.")
            return people.name(found[0])
        works = people.submissions(text)
    except Unknown as error:
        raise DecisionError(f"{text}: {error}.") from None
    if len(works) > 1:
        raise DecisionError(f"{text}: several submissions. Choose one of {', '.join(works)}.")
    owners = [key(student) for student in students(works[0], people.lines[works[0]].origin)]
    # The student, if that means only this submission, whose id may change with the next download; else the id.
    return people.name(owners[0]) if len(owners) == 1 and people.handed_in[owners[0]] == works else works[0]
