"""Whose grade would change if properties were worth other points; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.core.grades.decided import DecidedClass
from grader.core.grades.grades import StudentGrade, decided, grades
from grader.core.results.difference import GradeMove, moved
from grader.core.results.report import summary_line
from grader.core.results.view import revalued


@dataclass(frozen=True)
class Moved:
    """A student whose grade would change."""

    submission: str
    move: GradeMove


def what_if(known: DecidedClass, points: Mapping[str, float], thresholds: Mapping[str, float]) -> list[Moved]:
    """All students whose grade would change, threshold crossings first.

    Args:
        known: The class.
        points: What there would be to earn, by the id of a property.
        thresholds: The grades that matter, by name.
    """
    reports = (revalued(known.as_graded(line.id), points, known.rubric) for line in known.lines)
    lines = [summary_line(decided(report, known.book, known.rubric)) for report in reports]
    before = {_who(own): _points(own) for found in known.grades.values() for own in found}
    after = {_who(own): _points(own) for own in grades(lines, known.book, known.rubric.policy)}
    found = [
        Moved(submission, moved(student, before.get((submission, student)), now, thresholds))
        for (submission, student), now in after.items()
        if before.get((submission, student)) != now
    ]
    return sorted(found, key=lambda own: not own.move.crossed)


def _who(own: StudentGrade) -> tuple[str, str]:
    return own.line.id, str(own.student)


def _points(own: StudentGrade) -> float | None:
    return own.grade.points if own.grade else None
