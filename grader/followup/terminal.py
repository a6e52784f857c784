"""Differences between two gradings, in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.core.cli.terminal import say
from grader.core.grades.decided import DecidedClass
from grader.core.grades.grades import StudentGrade
from grader.core.grades.words import for_staff
from grader.core.results.report import SummaryLine
from grader.core.rubric import Rubric

from . import words
from .difference import Decisions, Difference, GradeMove, Kind, moved, with_grades

STYLES = {Kind.DROP: "red", Kind.GONE: "red", Kind.RISE: "green"}
Grades = Mapping[str, Sequence[StudentGrade]]  # by submission


def said(known: DecidedClass, submission: str, language: str) -> Decisions:
    """What people decided about a submission, in words, by what it is about."""
    found: dict[str, str] = {}
    for ruling in known.book.about(known.line(submission)):
        slot, text = ruling.decision.slot, for_staff(ruling, known.rubric, language)
        found[slot] = f"{found[slot]} {text}" if slot in found else text
    return found


def graded(
    found: Difference | None, line: SummaryLine, sides: tuple[Grades, Grades], thresholds: Mapping[str, float]
) -> Difference | None:
    """A difference of points with the grades that changed, and the thresholds that they cross."""
    old, new = (
        {str(own.student): own.grade.points if own.grade else None for own in side.get(line.id, ())} for side in sides
    )
    both = [student for student in new if student in old and old[student] != new[student]]
    moves: list[GradeMove] = [moved(student, old[student], new[student], thresholds) for student in both]
    points = None if line.score is None else line.score + (line.bonus or 0)
    return with_grades(found, line.id, points, moves)


def print_differences(differences: Sequence[Difference], same: int | None, rubric: Rubric, lang: str) -> None:
    """Print each submission with its points, and below it its properties with their reasons.

    At the end, the number of those that stayed the same, unless it is None.
    """
    kind = None
    for own in differences:
        if own.kind is not kind:
            kind = own.kind
            number = sum(other.kind is kind for other in differences)
            say(f"{words.kind(lang, kind)}: {number}", "bold")
        say(f"  {own.id}: {words.points(own)} ({own.change:+g})", STYLES.get(own.kind, ""))
        for grade in words.grades(own, lang):
            say(f"    {grade}")
        for change in own.changes:
            say(f"    {words.title(change, rubric, lang)}: {words.outcomes(change)}, {words.worth(change)}")
            _print_reasons(words.reasons(change.reasons, lang))
        told = {reason for change in own.changes for reason in change.reasons}
        _print_reasons(words.reasons(tuple(reason for reason in own.reasons if reason not in told), lang))
    if same is None:
        return
    if not differences:
        say(words.word(lang, "nothing"))
    say(words.word(lang, "same", n=same))


def _print_reasons(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        say(f"      {sentence}", "dim")
