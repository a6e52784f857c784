"""From reports to grades, all of it in one place.

The way is: report ─► viewed by the rubric ─► decided by people ─► late policy ─► grade. The first step
(``results/view.py``) is written down, in ``report.json``; the others follow whenever a grade is shown or exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from grader.core.intake.origin import Student, absent, clean
from grader.core.messages import say
from grader.core.results.policy import USUAL, Grade, Terms, grade
from grader.core.results.report import Report, SummaryLine
from grader.core.results.view import overridden
from grader.core.rubric import Policy, Rubric

from .book import Book
from .model import BEST, LAST, Ruling
from .people import Key, key, students


@dataclass(frozen=True, eq=False)
class StudentGrade:
    """The grade of one student for one submission.

    Attributes:
        grade: None where there is none.
        blank: Why there is no grade; empty if there is one.
        terms: What the student was granted.
        rulings: Every decision about the student or the submission that holds.
        excused: Whether there is no grade because a person excused the student.
    """

    student: Student
    line: SummaryLine
    grade: Grade | None
    blank: str
    terms: Terms = USUAL
    rulings: tuple[Ruling, ...] = ()
    excused: bool = False


def decided(report: Report, book: Book, rubric: Rubric) -> Report:
    """A report with the points that people decided on."""
    return overridden(report, book.points(report.submission.id), rubric)


def grades(lines: Sequence[SummaryLine], book: Book, policy: Policy) -> list[StudentGrade]:
    """A grade for each student of each submission that counts, in the order of the submissions.

    The lines of the summary have the points of :func:`decided`. A student in several submissions gets no grade until a
    person has decided which one counts.
    """
    found = [one for line in lines for one in _grades(line, book, policy)]
    by_student: dict[Key, list[StudentGrade]] = {}
    for one in found:
        by_student.setdefault(key(one.student), []).append(one)
    counting = {one for own, theirs in by_student.items() for one in _counting(theirs, book, own)}
    chosen = {own: [one for one in theirs if one in counting] for own, theirs in by_student.items()}
    return [_alone(one, chosen[key(one.student)]) for one in found if one in counting]


def by_submission(found: Iterable[StudentGrade]) -> dict[str, list[StudentGrade]]:
    """Grades by the id of the submission that they are for."""
    ordered: dict[str, list[StudentGrade]] = {}
    for own in found:
        ordered.setdefault(own.line.id, []).append(own)
    return ordered


def _grades(line: SummaryLine, book: Book, policy: Policy) -> Iterator[StudentGrade]:
    owners = students(line.id, line.origin)
    teams = [team for own in owners if (team := book.of(key(own), "team"))]
    members = {key(student): student for student in owners}
    mates = [mate for team in teams for name in team.decision.team or () for mate in book.people.students(name)]
    members |= {mate: book.people.known[mate] for mate in mates if mate not in members}
    for student in members.values():
        yield _grade(student, line, teams, book, policy)


def _grade(student: Student, line: SummaryLine, teams: Sequence[Ruling], book: Book, policy: Policy) -> StudentGrade:
    own = key(student)
    due, free, excuse = (book.of(own, slot) for slot in ("due", "late_days", "excuse"))
    terms = Terms(due.decision.due if due else None, (free.decision.late_days or 0) if free else 0)
    rulings = tuple(dict.fromkeys((*book.about_student(line.id, own), *teams)))
    if excuse:
        return StudentGrade(student, line, None, f"excused: {excuse.decision.why}", terms, rulings, excused=True)
    if absent(line.origin) and policy.missing == "zero" and line.score is None:
        return StudentGrade(student, line, Grade(0, 0, 0, say("No submission.")), "", terms, rulings)
    if line.score is None or line.bonus is None:
        return StudentGrade(student, line, None, f"{line.status}: {clean(line.reason or '')}", terms, rulings)
    earned = grade(policy, line.score, line.bonus, line.origin, terms)
    return StudentGrade(student, line, earned, "", terms, rulings)


def _counting(theirs: Sequence[StudentGrade], book: Book, student: Key) -> Sequence[StudentGrade]:
    """Of the submissions of one student, those that may count: only one if people decided which.

    Two platforms may give two students the same id; where names differ, no rule chooses between them.
    """
    handed_in = [one for one in theirs if not absent(one.line.origin)] or theirs[:1]
    rule = book.of(student, "attempt")
    chosen = rule.decision.attempt if rule else None
    if chosen in (BEST, LAST) and len({one.student.name for one in handed_in if one.student.name}) > 1:
        return handed_in
    if chosen == BEST:
        return [max(handed_in, key=lambda one: one.grade.points if one.grade else -1.0)]
    if chosen == LAST and all(one.line.origin and one.line.origin.submitted_at for one in handed_in):
        return [max(handed_in, key=_moment)]
    return [one for one in handed_in if one.line.id == chosen] or handed_in


def _moment(one: StudentGrade) -> datetime:
    return datetime.fromisoformat((one.line.origin and one.line.origin.submitted_at) or "")


def _alone(one: StudentGrade, others: Sequence[StudentGrade]) -> StudentGrade:
    """The grade, if this is the only submission of the student that may count."""
    if len(others) == 1:
        return one
    ids = ", ".join(other.line.id for other in others)
    why = f"has several submissions ({ids}); choose one with `grader decide --attempt`"
    return replace(one, grade=None, blank=why)
