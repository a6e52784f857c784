"""Finds the decisions in force for a class, their students, and the decisions to be reviewed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache

from pydantic import ValidationError

from grader.core.grades.graded import DecisionError, Read
from grader.core.grades.people import People, Unknown, key, students
from grader.core.results.policy import extendable
from grader.core.results.report import Report, SummaryLine
from grader.core.rubric import Policy, first_problem

from .decided import Book, DecidedClass
from .file import append
from .model import ASKED, BEST, EVERYONE, LAST, PERSONAL, SEEN, TOTALS, UNEXPLAINED, About, Decision, Ground, Ruling


def placed(entries: Sequence[Ruling], people: People, read: Read, policy: Policy) -> list[Ruling]:
    """Find the subject of each decision, and its present basis; they stay in the order of the file."""
    read = cache(read)
    return [_placed(ruling, people, read, policy) for ruling in entries]


def _placed(ruling: Ruling, people: People, read: Read, policy: Policy) -> Ruling:
    decision = ruling.decision
    if decision.student == EVERYONE:
        return replace(ruling, about=(EVERYONE,))
    about: tuple[About, ...]
    waits = ""
    try:
        if decision.personal:
            about = known = tuple(people.students(decision.student))
            lines = [people.lines[work] for student in known for work in people.handed_in[student]]
            ids = ", ".join(sorted({line.id for line in lines}))
            chosen = decision.attempt not in (None, LAST, BEST)
            problem, now = _student_problem(decision, lines, ids, people, policy), Ground(was=ids) if chosen else None
        else:
            about = (work := _one(people.submissions(decision.student), decision, read),)
            report = read(work)
            problem, now = _submission_problem(decision, report), ground(decision, report)
            waits = _not_yet_graded(decision, report)
    except Unknown as error:
        return replace(ruling, stale=f"{error}", void=True)
    return replace(ruling, stale=problem or waits, void=bool(problem), about=about, now=now)


def _one(works: Sequence[str], decision: Decision, read: Read) -> str:
    """The only submission of a student; of several, the one whose files were reviewed."""
    files = decision.ground and decision.ground.files
    then = works if len(works) == 1 else [one for one in works if read(one).submission.sha256 == files]
    if len(then) != 1:
        raise Unknown(f"several submissions: choose one of {', '.join(works)}")
    return then[0]


def _student_problem(decision: Decision, lines: Sequence[SummaryLine], ids: str, people: People, policy: Policy) -> str:
    """Why a decision about students with these submissions cannot be followed; empty if it can."""
    if decision.attempt not in (None, LAST, BEST, *(line.id for line in lines)):
        return f"no submission {decision.attempt}; the student has {ids}"
    if decision.due and not all(extendable(policy, line.origin) for line in lines):
        return "the submission time is unknown: decide late_days, or set due in [policy]"
    for name in decision.team or ():
        try:
            people.students(name)
        except Unknown as error:
            return f"{name}: {error}; with --roster, grade knows everyone in the course"
    return ""


def _submission_problem(decision: Decision, report: Report) -> str:
    """Why a decision about a submission cannot be followed; empty if it can."""
    if decision.override in (None, *TOTALS):
        return ""
    if report.status != "graded":
        return f"the submission is {report.status} and has no properties: override the score"
    known = parts(report)
    if decision.override in known:
        return ""
    near = get_close_matches(decision.override or "", [*known], n=1)
    return f"no property {decision.override} in the report{f' (did you mean {near[0]}?)' if near else ''}"


def _not_yet_graded(decision: Decision, report: Report) -> str:
    """What to do about a file that stands for another one, if no notice says that it was graded; empty if none."""
    path, _, called = (decision.file or "").partition("=")
    told = [f"{repr(called.rpartition('/')[2])[1:]} was {text}graded as {path}" for text in ("", "to be ")]
    tried = any(text in notice for text in told for notice in report.submission.notices)
    return "not applied yet; grade this submission again" if path and not tried else ""


@dataclass(frozen=True)
class Part:
    """What can be overridden: a property, a task, the score or the bonus.

    Attributes:
        title: Empty for score and bonus.
        was: What the grader found, in words.
    """

    id: str
    title: str
    points: float
    most: float
    was: str


def parts(report: Report) -> dict[str, Part]:
    """Everything that can be overridden, by its id: properties, then tasks, then totals."""
    found = [
        Part(
            prop.id, prop.title, prop.points, prop.max_points, f"{prop.outcome}, {prop.points:g} of {prop.max_points:g}"
        )
        for prop in report.properties.values()
    ]
    for task in report.tasks:
        was = f"{task.score:g} of {task.max_score:g}"
        found.append(Part(task.id, f"{task.id}: {task.title}", task.score, task.max_score, was))
    for name in TOTALS:
        points, most = (getattr(report, field) for field in (name, f"max_{name}"))
        was = report.status if points is None else f"{points:g} of {most:g}"
        found.append(Part(name, "", points or 0.0, most, was))
    return {part.id: part for part in found}


def ground(decision: Decision, report: Report) -> Ground | None:
    """The present basis of an override, a comment or a review; None for a withdrawal, an appeal or a file."""
    if decision.withdraw or decision.appeal or decision.file:
        return None
    files, slot = report.submission.sha256, decision.override
    if decision.seen is not None:
        earned, most = (report.score or 0) + (report.bonus or 0), report.max_score + report.max_bonus
        return Ground(files=files, was=f"{earned:g} of {most:g}" if report.status == "graded" else report.status)
    part = parts(report).get(slot or "")
    return Ground(files=files, was=part.was if part else "")


def _replaces(decision: Decision, other: Decision) -> bool:
    """Whether a decision ends an earlier one in its slot; a different comment or appeal does not, since these add up.

    A look answers the appeals before it, and an appeal after it needs another look.
    """
    if {decision.slot, other.slot} == {ASKED, SEEN}:
        return True
    added = decision.comment or decision.appeal
    return decision.slot == other.slot and (added is None or added == (other.comment or other.appeal))


def _replaced(decision: Decision, held: Sequence[Ruling]) -> Ruling | None:
    """The decision of another person that a decision ends, for staff to see; None if there is none.

    Only the latest is named, without the one that it had replaced itself.
    """
    theirs = (other for other in held if other.slot == decision.slot and other.decision.who != decision.who)
    found = next((other for other in theirs if other.decision.what not in UNEXPLAINED), None)
    return replace(found, over=None, stale="") if found else None


def changed(then: Ground | None, now: Ground | None) -> str:
    """The change of a decision's basis; empty if it has not changed, or if the old one is unknown."""
    if then is None or now is None or then == now:
        return ""
    parts = ["other files were submitted"] * (then.files != now.files)
    parts += [f"the grader's result was “{then.was}” and is now “{now.was}”"] * (then.was != now.was)
    return " and ".join(parts)


def book(found: Sequence[Ruling], people: People) -> Book:
    """The decisions in force: the last one of each slot, all comments, and nothing withdrawn since.

    A look no longer holds once files or points have changed; nobody is asked to look at that decision again.
    """
    held: dict[About, list[Ruling]] = {}
    unsettled = []
    for ruling in found:
        decision = ruling.decision
        if not ruling.void:
            ruling = replace(ruling, stale=ruling.stale or changed(decision.ground, ruling.now))
        for one in () if ruling.void else ruling.about:
            before = held.get(one, [])
            held[one] = [other for other in before if not _replaces(decision, other.decision)]
            stale = " and ".join(filter(None, (ruling.stale, _conflict(ruling, before))))
            ruling = replace(ruling, stale=stale, over=_replaced(decision, before))
            if decision.seen is not None and ruling.stale:
                continue  # something else lies there now, which nobody has seen
            if not decision.withdraw:
                held[one].append(ruling)
            elif len(held[one]) == len(before):
                ruling = replace(ruling, stale="no such decision to withdraw", void=True)
        if ruling.void:
            unsettled.append(ruling)
    again = {ruling for rulings in held.values() for ruling in rulings if ruling.stale}
    return Book(held, sorted({*unsettled, *again}, key=lambda ruling: ruling.place), people)


def _conflict(ruling: Ruling, before: Sequence[Ruling]) -> str:
    """The other decision about the same thing, if another grader made it and this one did not know of it."""
    ground = ruling.decision.ground or Ground()
    for other in before:
        same = _replaces(ruling.decision, other.decision) and ruling.decision.what == other.decision.what != SEEN
        unknown = other.file != ruling.file and ground.over != other.decision.author
        if same and unknown and other.decision.value != ruling.decision.value:
            return f"{other.decision.who} decided otherwise in {other.file}:{other.line}"
    return ""


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
    (alone,) = placed([Ruling(decision, 0)], book.people, read, policy)
    if alone.void:
        raise DecisionError(f"{student}: {decision.slot}: {alone.stale}.")
    held = [ruling for one in alone.about for ruling in book.held.get(one, ())]
    if decision.withdraw and all(other.slot != decision.slot for other in held):
        raise DecisionError(f"{student}: {decision.slot}: no such decision to withdraw.")
    if decision.override and decision.points is not None:
        most = parts(read(str(alone.about[0])))[decision.override].most
        if decision.points > most:
            too_many = f"{decision.points:g} points: {decision.override} has only {most:g}"
            raise DecisionError(f"{too_many}. Override it with {most:g} or less.")
    over, ground = _replaced(decision, held), alone.now
    if over:
        ground = (ground or Ground()).model_copy(update={"over": over.decision.author})
    return replace(alone, decision=decision.model_copy(update={"ground": ground}), over=over)


def record(known: DecidedClass, wanted: Sequence[Mapping[str, object]], who: str, grader: str) -> list[Ruling]:
    """Append decisions to the file of a grader, or the one that all share, all of them or none.

    ``wanted`` has the fields of each, but for who decided, and when.

    Raises:
        DecisionError: If one of them makes no sense for this class.
        OSError: If the file cannot be written.
    """
    common: dict[str, object] = {"who": who, "when": datetime.now(UTC).astimezone()}
    made = [drafted(common | {**fields}, known.book, known.as_graded, known.rubric.policy) for fields in wanted]
    append(known.folder, [ruling.decision for ruling in made], _named(known.book.people, made), grader)
    return made


def repeated(decision: Decision) -> dict[str, object]:
    """The decision and its reason, to be repeated by another author, at another time, on a new basis."""
    return {
        decision.what: getattr(decision, decision.what),
        **{name: getattr(decision, name) for name in ("points", "why", "at", "code")},
    }


def _named(people: People, made: Sequence[Ruling]) -> list[str]:
    """The subjects of each decision, for readers of the file: names, and ids of submissions."""
    each = ([people.known[one].name if isinstance(one, tuple) else one for one in ruling.about] for ruling in made)
    return [", ".join(dict.fromkeys(name for name in names if name and name != EVERYONE)) for names in each]


def _whom(text: str, decision: Decision, people: People) -> str:
    """The student's name in the file: a permanent id instead of the typed text."""
    try:
        if decision.slot in PERSONAL:
            found = [*map(people.name, people.students(text))]
            several = f"{text}: belongs to several students. Choose one of {', '.join(found)}."
        else:
            found = people.submissions(text)
            several = f"{text}: several submissions. Choose one of {', '.join(found)}."
    except Unknown as error:
        raise DecisionError(f"{text}: {error}.") from None
    if len(found) > 1:
        raise DecisionError(several)
    if decision.slot in PERSONAL:
        return found[0]
    owners = [key(student) for student in students(found[0], people.lines[found[0]].origin)]
    # The student, if that means only this submission, whose id may change with the next download; else the id.
    return people.name(owners[0]) if len(owners) == 1 and people.handed_in[owners[0]] == found else found[0]
