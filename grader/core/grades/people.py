"""Finds students and submissions of a class by id, email or name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from grader.core.intake.origin import Origin, Student, called, folded
from grader.core.results.report import SummaryLine

Key = tuple[str, str]
MOST_NAMED = 10


class Unknown(Exception):
    """A text that names nobody of the class, or several; the message says so, without a full stop."""


def students(submission: str, origin: Origin | None) -> tuple[Student, ...]:
    """The students whose submission it is; where none is known, its id serves as the student's."""
    return (origin.students if origin else ()) or (Student(id=submission),)


def key(student: Student) -> Key:
    """What identifies a student: the same for the same student, and for no other."""
    return (student.id, "") if student.id else (student.email, student.name)


def listed(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" … (+{more})" if more > 0 else "")


class People:
    """Everyone in a class, and their submissions, by the lines of the summary."""

    def __init__(self, lines: Iterable[SummaryLine]) -> None:
        self.lines = {line.id: line for line in lines}
        self.known: dict[Key, Student] = {}
        self.handed_in: dict[Key, list[str]] = {}
        self._called: dict[str, dict[Key, None]] = {}  # students by everything that they are called
        self._works = {folded(name): name for name in self.lines}
        for line in self.lines.values():
            for student in students(line.id, line.origin):
                who = key(student)
                self.known.setdefault(who, student)
                self.handed_in.setdefault(who, []).append(line.id)
                for text in called(student):
                    self._called.setdefault(text, {})[who] = None

    def find(self, text: str) -> Key | None:
        """The one student of that id, address or name; None if there is none, or if several share it."""
        found = [*self._called.get(folded(text), ())]
        return found[0] if len(found) == 1 else None

    def students(self, text: str) -> list[Key]:
        """The student of that id, address or name, or all students of the submission with that id.

        Raises:
            Unknown: If there is none, or if several share it.
        """
        found = [*self._called.get(folded(text), ())]
        if len(found) > 1:
            raise Unknown(f"ambiguous ({listed([*map(self.name, found)])}): give an id or an email")
        if found:
            return found
        work = self._works.get(folded(text))
        if work is None:
            near = get_close_matches(folded(text), [*self._works, *self._called], n=1)
            raise Unknown(f"no student matches{f' (did you mean {near[0]}?)' if near else ''}")
        return [key(student) for student in students(work, self.lines[work].origin)]

    def submissions(self, text: str) -> list[str]:
        """The submission of that id, or all submissions of the student of that id, address or name.

        Raises:
            Unknown: As :meth:`students` does.
        """
        if work := self._works.get(folded(text)):
            return [work]
        return [name for student in self.students(text) for name in self.handed_in[student]]

    def meant(self, text: str) -> list[str]:
        """The submissions that a person may mean: as :meth:`submissions`, or else by a part of an id, address or name.

        Raises:
            Unknown: If there is none.
        """
        try:
            return self.submissions(text)
        except Unknown:
            part = folded(text)
            works = [work for called, work in self._works.items() if part in called]
            students = [student for called, found in self._called.items() if part in called for student in found]
            works += [work for student in students for work in self.handed_in[student]]
            if not works:
                raise
            return [work for work in self.lines if work in works]

    def name(self, student: Key) -> str:
        """The id, address or name that means only this student; if each is shared, the id of a submission."""
        person = self.known[student]
        texts = (text for text in (person.id, person.email, person.name) if self.find(text) == student)
        return next(texts, self.handed_in[student][0])
