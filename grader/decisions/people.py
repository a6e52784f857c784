"""Whom a decision is about: students and submissions of a class, by any name that they are known by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from ..intake.origin import Origin, Student
from ..results.report import SummaryLine

Key = tuple[str, str]
MOST_NAMED = 5


class Unknown(Exception):
    """A text that names nobody of the class, or several; the message says so, without a full stop."""


def students(submission: str, origin: Origin | None) -> tuple[Student, ...]:
    """The students whose submission it is; where none is known, its id serves as the student's."""
    return (origin.students if origin else ()) or (Student(id=submission),)


def key(student: Student) -> Key:
    """What identifies a student: the same for the same student, and for no other."""
    return (student.id, "") if student.id else (student.email, student.name)


class People:
    """Everyone in a class, and what they handed in.

    Args:
        lines: Of the summary.
    """

    def __init__(self, lines: Iterable[SummaryLine]) -> None:
        self.lines = {line.id: line for line in lines}
        self.known: dict[Key, Student] = {}
        self.handed_in: dict[Key, list[str]] = {}
        for line in self.lines.values():
            for student in students(line.id, line.origin):
                self.known.setdefault(key(student), student)
                self.handed_in.setdefault(key(student), []).append(line.id)

    def find(self, text: str) -> Key | None:
        """The one student of that id, address or name; None if there is none, or if several share it."""
        found = [own for own, student in self.known.items() if _is(text, *_texts(student))]
        return found[0] if len(found) == 1 else None

    def students(self, text: str) -> list[Key]:
        """The student of that id, address or name, or all whose submission has it for an id.

        Raises:
            Unknown: If there is none, or if several share it.
        """
        found = [own for own, student in self.known.items() if _is(text, *_texts(student))]
        if len(found) > 1:
            raise Unknown(f"may be any of {', '.join(map(self.name, found[:MOST_NAMED]))}: give an id or an address")
        if found:
            return found
        line = next((line for line in self.lines.values() if _is(text, line.id)), None)
        if line is None:
            near = get_close_matches(text, [*self._all_texts()], n=1)
            raise Unknown(f"nobody in the class{f'; {near[0]} perhaps' if near else ''}")
        return [key(student) for student in students(line.id, line.origin)]

    def submissions(self, text: str) -> list[str]:
        """The submission of that id, or all of a student.

        Raises:
            Unknown: As :meth:`students` does.
        """
        if found := [own for own in self.lines if _is(text, own)]:
            return found
        return [own for student in self.students(text) for own in self.handed_in[student]]

    def name(self, student: Key) -> str:
        """The shortest way to write down a student so that nobody else is meant."""
        known = self.known[student]
        texts = [text for text in (known.id, known.email, known.name) if text]
        alone = (text for text in texts if sum(_is(text, *_texts(other)) for other in self.known.values()) == 1)
        return next(alone, self.handed_in[student][0])

    def _all_texts(self) -> Iterator[str]:
        yield from self.lines
        for student in self.known.values():
            yield from _texts(student)


def newcomer(text: str) -> Student:
    """A member of a team of whom nothing else is known; gradebooks find them by whatever the text is."""
    return Student(id=text, name=text, email=text if "@" in text else "")


def _texts(student: Student) -> Sequence[str]:
    return [text for text in (student.id, student.email, student.name) if text]


def _is(text: str, *known: str) -> bool:
    return any(text.casefold() == own.casefold() for own in known)
