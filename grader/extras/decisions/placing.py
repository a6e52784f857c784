"""Finds the decisions in force for a class, their students, and the decisions to be reviewed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache

from grader.core.grades.decided import Book, Read
from grader.core.grades.model import ASKED, BEST, EVERYONE, LAST, SEEN, TOTALS, About, Decision, Ground, Ruling
from grader.core.grades.people import Key, People, Unknown
from grader.core.results.policy import extendable
from grader.core.results.report import Report, SummaryLine
from grader.core.rubric import Policy


def placed(entries: Sequence[Ruling], people: People, read: Read, policy: Policy) -> list[Ruling]:
    """Find the subject of each decision, and its present basis; they stay in the order of the file."""
    read = cache(read)
    return [_placed(own, people, read, policy) for own in entries]


def _placed(ruling: Ruling, people: People, read: Read, policy: Policy) -> Ruling:
    own = ruling.decision
    about: tuple[About, ...]
    if own.student == EVERYONE:
        return replace(ruling, about=(EVERYONE,))
    try:
        if own.personal:
            about = students = tuple(people.students(own.student))
            problem, now = _student_problem(own, students, people, policy), _choice(own, students, people)
        else:
            about = (work := _one(people.submissions(own.student), own, read),)
            report = read(work)
            problem, now = _submission_problem(own, report), ground(own, report)
    except Unknown as error:
        return replace(ruling, stale=f"{error}", void=True)
    return replace(ruling, stale=problem, void=bool(problem), about=about, now=now)


def _one(works: Sequence[str], own: Decision, read: Read) -> str:
    """The only submission of a student; of several, the one whose files were reviewed."""
    files = own.ground and own.ground.files
    then = works if len(works) == 1 else [one for one in works if read(one).submission.sha256 == files]
    if len(then) != 1:
        raise Unknown(f"several submissions: choose one of {', '.join(works)}")
    return then[0]


def _submission_problem(own: Decision, report: Report) -> str:
    """Why a decision about a submission cannot be followed; empty if it can."""
    if own.override in (None, *TOTALS):
        return ""
    if report.status != "graded":
        return f"the submission is {report.status} and has no properties: override the score"
    known = parts(report)
    if own.override in known:
        return ""
    near = get_close_matches(own.override or "", [*known], n=1)
    return f"no property {own.override} in the report{f' (did you mean {near[0]}?)' if near else ''}"


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
        Part(own.id, own.title, own.points, own.max_points, f"{own.outcome}, {own.points:g} of {own.max_points:g}")
        for task in report.tasks
        for own in task.properties
    ]
    for task in report.tasks:
        was = f"{task.score:g} of {task.max_score:g}"
        found.append(Part(task.id, f"{task.id}: {task.title}", task.score, task.max_score, was))
    for name in TOTALS:
        points, most = (getattr(report, field) for field in (name, f"max_{name}"))
        was = report.status if points is None else f"{points:g} of {most:g}"
        found.append(Part(name, "", points or 0.0, most, was))
    return {own.id: own for own in found}


def _student_problem(own: Decision, about: Sequence[Key], people: People, policy: Policy) -> str:
    """Why a decision about students cannot be followed; empty if it can."""
    works = [people.lines[work] for student in about for work in people.handed_in[student]]
    if own.attempt not in (None, LAST, BEST) and own.attempt not in [line.id for line in works]:
        return f"no submission {own.attempt}; the student has {_ids(works)}"
    if own.due and not all(extendable(policy, line.origin) for line in works):
        return "the submission time is unknown: decide late_days, or set due in [policy]"
    for name in own.team or ():
        try:
            people.students(name)
        except Unknown as error:
            return f"{name}: {error}; with --roster, grade knows everyone in the course"
    return ""


def _choice(own: Decision, about: Sequence[Key], people: People) -> Ground | None:
    if own.attempt in (None, LAST, BEST):
        return None
    return Ground(was=_ids([people.lines[work] for student in about for work in people.handed_in[student]]))


def _ids(lines: Sequence[SummaryLine]) -> str:
    return ", ".join(sorted({line.id for line in lines}))


def ground(own: Decision, report: Report) -> Ground | None:
    """The present basis of an override, a comment or a review; None for a withdrawal, an appeal or a file."""
    if own.withdraw or own.appeal or own.file:
        return None
    files, slot = report.submission.sha256, own.override
    if own.seen is not None:
        earned, most = (report.score or 0) + (report.bonus or 0), report.max_score + report.max_bonus
        return Ground(files=files, was=f"{earned:g} of {most:g}" if report.status == "graded" else report.status)
    part = parts(report).get(slot or "")
    return Ground(files=files, was=part.was if part else "")


def _replaces(own: Decision, other: Decision) -> bool:
    """Whether a decision ends an earlier one in its slot; a different comment or appeal does not, since these add up.

    A look answers the appeals before it, and an appeal after it needs another look.
    """
    if {own.slot, other.slot} == {ASKED, SEEN}:
        return True
    added = own.comment or own.appeal
    return own.slot == other.slot and (added is None or added == (other.comment or other.appeal))


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
            ruling = replace(ruling, stale=changed(decision.ground, ruling.now))
        for one in () if ruling.void else ruling.about:
            before = held.get(one, [])
            held[one] = [other for other in before if not _replaces(decision, other.decision)]
            ruling = replace(ruling, stale=" and ".join(filter(None, (ruling.stale, _conflict(ruling, before)))))
            if decision.seen is not None and ruling.stale:
                continue  # something else lies there now, which nobody has seen
            if not decision.withdraw:
                held[one].append(ruling)
            elif len(held[one]) == len(before):
                ruling = replace(ruling, stale="no such decision to withdraw", void=True)
        if ruling.void:
            unsettled.append(ruling)
    stale = {ruling for rulings in held.values() for ruling in rulings if ruling.stale}
    return Book(held, sorted({*unsettled, *stale}, key=lambda ruling: ruling.place), people)


def _conflict(own: Ruling, before: Sequence[Ruling]) -> str:
    """The other decision about the same thing, if another grader made it and this one did not know of it."""
    ground = own.decision.ground or Ground()
    for other in before:
        same = _replaces(own.decision, other.decision) and own.decision.what == other.decision.what != SEEN
        unknown = other.file != own.file and ground.over != other.decision.author
        if same and unknown and other.decision.value != own.decision.value:
            return f"{other.decision.who} decided otherwise in {other.file}:{other.line}"
    return ""
