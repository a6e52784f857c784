"""What people decided about a class: which decisions hold, and the points and grades that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from grader.core.grades.graded import GradedClass, StudentGrade, student_grade
from grader.core.grades.people import Key, People, key, students
from grader.core.intake.origin import Student
from grader.core.results.report import Attention, PropertyReport, Report, SummaryLine, summary_line
from grader.core.results.views import summed, totals
from grader.core.rubric import Rubric

from .model import ASKED, BEST, EVERYONE, LAST, PERSONAL, SEEN, About, Ruling

STALE: Final = "stale_decision"


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
        own = (ruling for student in students(line.id, line.origin) for ruling in self.held.get(key(student), ()))
        return [*dict.fromkeys((*self.about(line), *own, *self.held.get(line.id, ())))]

    def about_student(self, submission: str, student: Key) -> list[Ruling]:
        """Everything that holds for a submission and one of its students, in the order of the file.

        Left out are which attempt counts, for a student who handed in once, and what was asked and seen, since these
        change no grade.
        """
        once = len(self.people.handed_in.get(student, ())) < 2
        slots = [slot for slot in PERSONAL if slot != "attempt" or not once]
        personal = filter(None, (self.of(student, slot) for slot in slots))
        works = (ruling for ruling in self.held.get(submission, ()) if ruling.decision.slot not in (ASKED, SEEN))
        return sorted({*works, *personal}, key=lambda ruling: (ruling.file, ruling.line))

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


@dataclass(frozen=True)
class DecidedClass(GradedClass):
    """A class with what people decided."""

    book: Book

    @property
    def unsettled(self) -> Sequence[str]:
        """The decisions that a person should look at, with the reason."""
        return [*map(str, self.book.unsettled)]

    def decisions(self, line: SummaryLine) -> Sequence[Ruling]:
        """Every decision that holds for a submission or one of its students, each once."""
        return self.book.about(line)

    def report(self, submission: str) -> Report:
        """A report with the points that people decided on."""
        return overridden(self.as_graded(submission), self.book.points(submission), self.rubric)

    def in_force(self, line: SummaryLine) -> SummaryLine:
        """A line of the summary with the points that people decided on."""
        return summary_line(self.report(line.id), line.practice) if self.book.points(line.id) else line

    def grades_of(self, line: SummaryLine) -> list[StudentGrade]:
        """A grade for each student of a submission and each teammate, by the points that people decided on."""
        line, book = self.in_force(line), self.book
        owners = students(line.id, line.origin)
        teams = [team for owner in owners if (team := book.of(key(owner), "team"))]
        members = {key(student): student for student in owners}
        mates = [mate for team in teams for name in team.decision.team or () for mate in book.people.students(name)]
        members |= {mate: book.people.known[mate] for mate in mates if mate not in members}
        return [self._grade(student, line, teams) for student in members.values()]

    def _grade(self, student: Student, line: SummaryLine, teams: Sequence[Ruling]) -> StudentGrade:
        who = key(student)
        due, free, excuse = (self.book.of(who, slot) for slot in ("due", "late_days", "excuse"))
        decisions = tuple(dict.fromkeys((*self.book.about_student(line.id, who), *teams)))
        if excuse:
            return StudentGrade(student, line, None, f"excused: {excuse.decision.why}", decisions, excused=True)
        granted = due.decision.due if due else None, (free.decision.late_days or 0) if free else 0
        return replace(student_grade(student, line, self.rubric.policy, *granted), decisions=decisions)

    def counting(self, student: Key, theirs: Sequence[StudentGrade]) -> Sequence[StudentGrade]:
        """Of the submissions of one student, those that may count: only one if people decided which.

        Two platforms may give two students the same id; where names differ, no rule chooses between them.
        """
        handed_in = super().counting(student, theirs)
        rule = self.book.of(student, "attempt")
        chosen = rule.decision.attempt if rule else None
        if chosen in (BEST, LAST) and len({one.student.name for one in handed_in if one.student.name}) > 1:
            return handed_in
        if chosen == BEST:
            return [max(handed_in, key=lambda one: one.grade.points if one.grade else -1.0)]
        if chosen == LAST and all(one.line.origin and one.line.origin.submitted_at for one in handed_in):
            return [max(handed_in, key=_moment)]
        return [one for one in handed_in if one.line.id == chosen] or handed_in

    def attention(self, before: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission, with the decisions whose basis has changed by now."""
        stale = ((line.id, ruling) for line in self.lines for ruling in self.book.about(line) if ruling.stale)
        kept = [one for one in before if one.code != STALE]
        return kept + [Attention(id=submission, code=STALE, text=str(ruling)) for submission, ruling in stale]

    def unseen(self, attention: Iterable[Attention]) -> list[Attention]:
        """The reasons for a person to look at a submission for which nobody has looked at it yet."""
        return [one for one in attention if one.code not in self.book.looked_at(one.id)]


def _moment(one: StudentGrade) -> datetime:
    return datetime.fromisoformat((one.line.origin and one.line.origin.submitted_at) or "")


def overridden(report: Report, points: Mapping[str, float], rubric: Rubric) -> Report:
    """The same outcomes with points that people decided on, never more than there are to earn.

    ``points`` has keys that are ids of properties or tasks, or ``score`` and ``bonus``. An ungraded submission that is
    given a score counts as graded, with no properties.
    """
    if not points or (report.status != "graded" and "score" not in points):
        return report
    tasks = [summed(task, [_decided(prop, points) for prop in task.properties]) for task in report.tasks]
    tasks = [task.model_copy(update={"score": min(points.get(task.id, task.score), task.max_score)}) for task in tasks]
    earned = totals(tasks, rubric) if report.status == "graded" else {"score": 0.0, "bonus": 0.0}
    most = {"score": report.max_score, "bonus": report.max_bonus}
    earned |= {name: min(points[name], most[name]) for name in earned if name in points}
    return report.model_copy(update={"tasks": tasks, "status": "graded", **earned})


def _decided(prop: PropertyReport, points: Mapping[str, float]) -> PropertyReport:
    return prop.model_copy(update={"points": min(points.get(prop.id, prop.points), prop.max_points)})
