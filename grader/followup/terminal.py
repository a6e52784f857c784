"""Differences between two gradings, in the terminal, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from grader.core.cli.terminal import say
from grader.core.grades.graded import GradedClass
from grader.core.messages import Sentences
from grader.core.pages import WORDS
from grader.core.rubric import Rubric

from .difference import Decisions, Difference, Kind, PropertyChange, Reason, difference

word = Sentences(WORDS, Path(__file__).with_name("words.toml"))  # of outcomes, and of differences
NONE: Final = "-"
Line = tuple[str, str]  # a text, and its style
STYLES = {Kind.DROP: "red", Kind.GONE: "red", Kind.RISE: "green"}


def changed(old: GradedClass | None, new: GradedClass | None, submission: str, language: str) -> Difference | None:
    """How a submission differs in points, decisions and grades between two gradings of its class; None if it does not.

    A grading is None where it lacks the submission.
    """
    if not old or not new:
        return difference(old.report(submission) if old else None, new.report(submission) if new else None)
    before, now = (
        {str(each.student): each.grade.points if each.grade else None for each in side.grades.get(submission, ())}
        for side in (old, new)
    )
    moves = [
        (student, before[student], grade)
        for student, grade in now.items()
        if student in before and before[student] != grade
    ]
    decided = _said(old, submission, language), _said(new, submission, language)
    return difference(old.report(submission), new.report(submission), decided, moves)


def _said(known: GradedClass, submission: str, language: str) -> Decisions:
    """What people decided about a submission, in words, by what it is about."""
    found: dict[str, str] = {}
    for one in known.decisions(known.line(submission)):
        slot, text = one.slot, one.for_staff(known.rubric, language)
        found[slot] = f"{found[slot]} {text}" if slot in found else text
    return found


def print_differences(differences: Sequence[Difference], same: int | None, rubric: Rubric, lang: str) -> None:
    """Print each submission with its points, and below it its properties with their reasons.

    Submissions that changed alike, as the whole class does with other points, are followed by one text for all. At the
    end, the number of those that stayed the same, unless it is None.
    """
    alike: dict[tuple[Kind, Sequence[Line]], list[Difference]] = {}
    for found in differences:
        alike.setdefault((found.kind, (*_lines(found, rubric, lang),)), []).append(found)
    last = None
    for (kind, lines), those in alike.items():
        if kind is not last:
            last = kind
            number = sum(other.kind is kind for other in differences)
            say(f"{word(lang, f'kind_{kind}')}: {number}", "bold")
        for found in those:
            say(f"  {found.id}: {_points(found, lang)} ({found.change:+g})", STYLES.get(kind, ""))
        for text, style in lines:
            say(text, style)
    if same is None:
        return
    if not differences:
        say(word(lang, "nothing"))
    say(word(lang, "same", n=same))


def _lines(found: Difference, rubric: Rubric, lang: str) -> Iterator[Line]:
    """What is printed below a submission: its grades, its properties, and the reasons."""
    for student, old, new in found.grades:  # where they are something else than the points, or cross a threshold
        crossed = [*_crossed(old, new, rubric.policy.thresholds, lang)]
        if crossed or (old, new) != (found.old, found.new):
            grade = _arrow(NONE if side is None else f"{side:g}" for side in (old, new))
            yield f"    {'; '.join([word(lang, 'grade', student=student, sides=grade), *crossed])}", ""
    for change in found.changes:
        outcomes = _arrow(word(lang, side.outcome) if side else NONE for side in (change.old, change.new))
        yield f"    {title(change, rubric, lang)}: {outcomes}, {_worth(change)}", ""
        yield from (_reason(reason, lang) for reason in change.reasons)
    told = {reason for change in found.changes for reason in change.reasons}
    yield from (_reason(reason, lang) for reason in found.reasons if reason not in told)


def _reason(reason: Reason, language: str) -> Line:
    return f"      {word(language, f'why_{reason.cause}', detail=reason.detail)}", "dim"


def _points(difference: Difference, language: str) -> str:
    """The points of a submission before and now, or its status if it has no points."""
    sides = (difference.old, difference.old_status), (difference.new, difference.new_status)
    told = {status: word(language, f"status_{status}") if status else NONE for _, status in sides}
    return _arrow(told[status] if value is None else f"{value:g}" for value, status in sides)


def _crossed(old: float | None, new: float | None, thresholds: Mapping[str, float], language: str) -> Iterator[str]:
    """The thresholds between two grades; a missing grade reaches none."""
    for name, least in thresholds.items():
        before, now = (side is not None and side >= least for side in (old, new))
        if before != now:
            yield word(language, "reached" if now else "missed", threshold=name, least=least)


def title(change: PropertyChange, rubric: Rubric, language: str) -> str:
    """The title of a property: from the rubric, or from the report where the rubric no longer has it."""
    known = rubric.properties.get(change.id)
    told = change.new or change.old
    return known.title[language] if known else told.title if told else change.id


def _worth(change: PropertyChange) -> str:
    """The points of a property before and now, each with its maximum if that has changed."""
    sides = (change.old, change.new)
    changed = len({side.max_points for side in sides if side}) > 1
    return _arrow(NONE if side is None else f"{side.points:g}" + f"/{side.max_points:g}" * changed for side in sides)


def _arrow(sides: Iterable[str]) -> str:
    """Both sides with an arrow between them; one alone if they are the same."""
    before, after = sides
    return before if before == after else f"{before} → {after}"
