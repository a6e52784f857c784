"""The decisions in force in a class, by whom they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.core.results.report import Report, SummaryLine

from .model import ASKED, EVERYONE, PERSONAL, SEEN, About, Ruling
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
        return {own.override: own.points for own in held if own.override and own.points is not None}


NOTHING = Book()
