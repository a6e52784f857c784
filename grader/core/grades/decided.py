"""A class with what people decided about it, and the way from reports to grades, all of it in one place.

The way is: report ─► viewed by the rubric ─► decided by people ─► late policy ─► grade. The first step
(``results/language.py``) is written down, in ``report.json``; the others follow whenever a grade is shown or exported.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from grader.core.extras import extra
from grader.core.intake.origin import Student, absent, clean
from grader.core.messages import say
from grader.core.results.language import overridden
from grader.core.results.policy import Grade, grade
from grader.core.results.report import Attention, Report, SummaryLine, summary_line
from grader.core.rubric import Policy, Rubric

from .model import ASKED, BEST, EVERYONE, FILE, FOLDER, LAST, PERSONAL, SEEN, About, DecisionError, Ruling, for_staff
from .people import Key, People, key, students

Read = Callable[[str], Report]


@dataclass(frozen=True)
class Book:
    """All decisions about a class.

    Attributes:
        held: What holds, in the order of the file: by submission, by student, and under ``*`` for everyone.
        unsettled: What a person should look at, in the order of the file.
    """

    held: Mapping[About, Sequence[Ruling]] = field(default_factory=dict)
    unsettled: Sequence[Ruling] = ()
    people: People = field(default_factory=lambda: People(()))

    def of(self, student: Key, slot: str) -> Ruling | None:
        """The decision in a slot that holds for a student, or else for everyone; None if there is none."""
        rulings = (*self.held.get(student, ()), *self.held.get(EVERYONE, ()))
        return next((ruling for ruling in rulings if ruling.decision.slot == slot), None)

    def about(self, line: SummaryLine) -> list[Ruling]:
        """Every decision that holds for a submission or one of its students, each once."""
        each = (self.about_student(line.id, key(student)) for student in students(line.id, line.origin))
        return list(dict.fromkeys(ruling for rulings in each for ruling in rulings))

    def everything(self, line: SummaryLine) -> list[Ruling]:
        """All decisions, appeals and looks of a submission and its students."""
        seen = self.seen(line.id)
        return [*self.about(line), *self.asked(line.id), *([seen] if seen else [])]

    def about_student(self, submission: str, student: Key) -> list[Ruling]:
        """Everything that holds for a submission and one of its students, in the order of the file.

        Left out are which attempt counts, for a student who handed in once, and what was asked and seen, since these
        change no grade.
        """
        once = len(self.people.handed_in.get(student, ())) < 2
        slots = [slot for slot in PERSONAL if slot != "attempt" or not once]
        personal = filter(None, (self.of(student, slot) for slot in slots))
        works = (ruling for ruling in self.held.get(submission, ()) if ruling.decision.slot not in (ASKED, SEEN))
        return sorted({*works, *personal}, key=lambda ruling: ruling.place)

    def seen(self, submission: str) -> Ruling | None:
        """The look that somebody took at a submission; None if there is none, or files or points changed since."""
        return next((ruling for ruling in self.held.get(submission, ()) if ruling.decision.slot == SEEN), None)

    def looked_at(self, submission: str) -> tuple[str, ...]:
        """The reasons for which somebody took that look."""
        ruling = self.seen(submission)
        return (ruling.decision.seen or ()) if ruling else ()

    def asked(self, submission: str) -> list[Ruling]:
        """The appeals of a submission's students at which nobody has looked since."""
        return [ruling for ruling in self.held.get(submission, ()) if ruling.decision.slot == ASKED]

    def points(self, submission: str) -> dict[str, float]:
        """The points that were decided on, by id of a property, or for ``score`` and ``bonus``."""
        held = (ruling.decision for ruling in self.held.get(submission, ()))
        return {one.override: one.points for one in held if one.override and one.points is not None}


NOTHING = Book()


@dataclass(frozen=True, eq=False)
class StudentGrade:
    """The grade of one student for one submission.

    Attributes:
        grade: None where there is none.
        blank: Why there is no grade; empty if there is one.
        rulings: Every decision about the student or the submission that holds.
        excused: Whether there is no grade because a person excused the student.
    """

    student: Student
    line: SummaryLine
    grade: Grade | None
    blank: str
    rulings: tuple[Ruling, ...] = ()
    excused: bool = False


def grades(lines: Sequence[SummaryLine], book: Book, policy: Policy) -> dict[str, list[StudentGrade]]:
    """A grade for each student of each submission, by its id; none if another submission of the student counts.

    The lines of the summary have the points that people decided on. A student in several submissions gets no grade
    until a person has decided which one counts.
    """
    found = [one for line in lines for one in _grades(line, book, policy)]
    by_student: dict[Key, list[StudentGrade]] = {}
    for one in found:
        by_student.setdefault(key(one.student), []).append(one)
    counting = {student: _counting(theirs, book, student) for student, theirs in by_student.items()}
    made: dict[str, list[StudentGrade]] = {line.id: [] for line in lines}
    for one in found:
        if one in (others := counting[key(one.student)]):
            made[one.line.id].append(_alone(one, others))
    return made


def _grades(line: SummaryLine, book: Book, policy: Policy) -> Iterator[StudentGrade]:
    owners = students(line.id, line.origin)
    teams = [team for owner in owners if (team := book.of(key(owner), "team"))]
    members = {key(student): student for student in owners}
    mates = [mate for team in teams for name in team.decision.team or () for mate in book.people.students(name)]
    members |= {mate: book.people.known[mate] for mate in mates if mate not in members}
    for student in members.values():
        yield _grade(student, line, teams, book, policy)


def _grade(student: Student, line: SummaryLine, teams: Sequence[Ruling], book: Book, policy: Policy) -> StudentGrade:
    who = key(student)
    due, free, excuse = (book.of(who, slot) for slot in ("due", "late_days", "excuse"))
    rulings = tuple(dict.fromkeys((*book.about_student(line.id, who), *teams)))
    if excuse:
        return StudentGrade(student, line, None, f"excused: {excuse.decision.why}", rulings, excused=True)
    if absent(line.origin) and policy.missing == "zero" and line.score is None:
        return StudentGrade(student, line, Grade(0, 0, 0, say("No submission.")), "", rulings)
    if line.score is None or line.bonus is None:
        return StudentGrade(student, line, None, f"{line.status}: {clean(line.reason or '')}", rulings)
    granted = due.decision.due if due else None, (free.decision.late_days or 0) if free else 0
    return StudentGrade(student, line, grade(policy, line.score, line.bonus, line.origin, *granted), "", rulings)


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


STALE: Final = "stale_decision"


@dataclass(frozen=True)
class DecidedClass:
    """A class with what people decided.

    Attributes:
        lines: Of the summary; their points are the grader's.
        book: The decisions.
        as_graded: Gives a report as the grader wrote it.
    """

    folder: Path
    lines: Sequence[SummaryLine]
    book: Book
    rubric: Rubric
    as_graded: Read

    def line(self, submission: str) -> SummaryLine:
        """The line of the summary; of a submission of an earlier run, what its report says."""
        return self.book.people.lines.get(submission) or summary_line(self.as_graded(submission))

    def report(self, submission: str) -> Report:
        """A report with the points that people decided on."""
        return overridden(self.as_graded(submission), self.book.points(submission), self.rubric)

    def in_force(self, line: SummaryLine) -> SummaryLine:
        """A line of the summary with the points that people decided on."""
        return summary_line(self.report(line.id), line.practice) if self.book.points(line.id) else line

    def told(self, language: str) -> list[tuple[str, str]]:
        """Every decision that holds: the submission that it is about, and the words for staff."""
        held = ((line.id, ruling) for line in self.lines for ruling in self.book.about(line))
        return [(submission, for_staff(ruling, self.rubric, language)) for submission, ruling in held]

    @cached_property
    def grades(self) -> Mapping[str, Sequence[StudentGrade]]:
        """Grades by submission id; empty if the students' grades come from another submission."""
        return grades([*map(self.in_force, self.lines)], self.book, self.rubric.policy)

    def attention(self, before: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission, with the decisions whose basis has changed by now."""
        stale = ((line.id, ruling) for line in self.lines for ruling in self.book.about(line) if ruling.stale)
        kept = [one for one in before if one.code != STALE]
        return kept + [Attention(id=submission, code=STALE, text=str(ruling)) for submission, ruling in stale]

    def unseen(self, attention: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission for which nobody has looked at it yet."""
        return [one for one in attention if one.code not in self.book.looked_at(one.id)]


def read_decided(
    folder: Path,
    lines: Sequence[SummaryLine],
    reports: Read,
    rubric: Rubric,
    ledger: sqlite3.Connection | None = None,
    note: bool = True,
) -> DecidedClass:
    """A class with its decisions, as the extra ``decisions`` finds them beside its reports; none where there are none.

    The lines are those of the summary. With ``note``, the ledger is brought up to date with the decisions; one that is
    open already is used.

    Raises:
        DecisionError: If the file has a mistake, is gone although the ledger knows decisions, or cannot be read here.
    """
    book = NOTHING
    if decisions := extra("decisions"):
        book = decisions.decisions_of(folder, lines, reports, rubric, ledger, note)
    elif there := [path for path in (folder / FILE, folder / FOLDER) if path.exists()]:
        raise DecisionError(f"{there[0]}: only grader/extras/decisions can read it, and that folder is missing.")
    return DecidedClass(folder, lines, book, rubric, reports)
