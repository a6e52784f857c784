"""Whose grade crosses a threshold that the policy names, such as the one to pass."""

from __future__ import annotations

from collections.abc import Mapping

from .diff import GradeMove


def moved(student: str, old: float | None, new: float | None, thresholds: Mapping[str, float]) -> GradeMove:
    """A grade before and now, with the thresholds between them; a missing grade reaches no threshold."""
    crossed = [(name, least) for name, least in thresholds.items() if _reaches(old, least) != _reaches(new, least)]
    return GradeMove(student, old, new, tuple(crossed))


def _reaches(grade: float | None, least: float) -> bool:
    return grade is not None and grade >= least
