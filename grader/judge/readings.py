"""Readings: what a function finds out about a submission once, for all properties that need to know it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .student import Student

T = TypeVar("T")
Read = Callable[["Student"], Any]  # asks a student, and gives what it has found out


class Readings:
    """What functions have found out about one submission.

    Args:
        reader: Gives the student that such a function asks: newly imported, in a worker that answers for nothing else.
    """

    def __init__(self, reader: Callable[[Read], Student]) -> None:
        """Start with nothing found out."""
        self._reader = reader
        self.found: dict[Read, Any] = {}
        self.used: dict[Read, None] = {}  # the readings asked for since this was last cleared, in order

    def of(self, read: Callable[[Student], T]) -> T:
        """What that function finds out; it is called once a submission."""
        if read not in self.found:
            student = self._reader(read)
            try:
                self.found[read] = read(student)
            finally:
                student.start_afresh()
        self.used[read] = None
        found: T = self.found[read]
        return found
