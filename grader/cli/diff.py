"""``grader diff`` and ``grader grade --dry-run``: what a change of tests, rubric or files does to the class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..decisions.book import NOTHING, Book
from ..decisions.folder import about, decisions_of
from ..decisions.grades import StudentGrade, decided, grades
from ..decisions.model import DecisionError
from ..decisions.words import for_staff
from ..definition import Assignment
from ..pages import diff_words as words
from ..pool.preview import Preview
from ..results.database import LedgerError
from ..results.diff import Decisions, Difference, GradeMove, Kind, difference, in_order, moved, with_grades
from ..results.report import Report, Summary, SummaryLine, summary_line, write_text
from ..rubric import Rubric
from .decided import DecidedClass, as_graded, read_decided
from .terminal import fail, language_of, read_class, read_written, say


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The folder of the earlier grading.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder of the later one.")],
    out: Annotated[Path | None, typer.Option(metavar="HTML", help="Write it as a page, too.")] = None,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
) -> None:
    """Compare two gradings: who changed, in which property, and why; drops first."""
    language, rubric = language_of(lang), ASSIGNMENT.rubric
    found = [*_compared(old, new, rubric, language)]
    differences, same = in_order(filter(None, found)), found.count(None)
    if out:
        from ..pages.diff import page  # templates are slow to import, and every command imports this file

        try:
            write_text(out, page(differences, same, rubric, language, (str(old), str(new))))
        except OSError as error:
            fail(f"--out {out}: {error.strerror}. Choose a file in a folder that you can write to.")
    print_differences(differences, same, rubric, language)
    if out:
        say(str(out))


def _compared(old: Path, new: Path, rubric: Rubric, language: str) -> Iterator[Difference | None]:
    """The difference of each submission in the two summaries; only two reports at a time are in memory.

    A submission that was graded again alone, as for an appeal, says nothing about all others.
    """
    sides = _read(old, rubric, quiet=True), _read(new, rubric)
    before, after = ({line.id: line for line in side.lines} for side in sides)
    alone = len(after) == 1 and after.keys() < before.keys()
    for identifier in sorted(after if alone else before | after):
        here = [side if identifier in lines else None for side, lines in zip(sides, (before, after), strict=True)]
        reports = [side.report(identifier) if side else None for side in here]
        decided = [said(side, identifier, language) if side else {} for side in here]
        found = difference(reports[0], reports[1], (decided[0], decided[1]))
        line = (after | before)[identifier]
        yield graded(found, line, (sides[0].grades, sides[1].grades), rubric.policy.thresholds)


def _read(folder: Path, rubric: Rubric, quiet: bool = False) -> DecidedClass:
    lines = read_written(folder / "summary.json", Summary).submissions
    return read_decided(folder, rubric, lines, quiet=quiet)


STYLES = {Kind.DROP: "red", Kind.GONE: "red", Kind.RISE: "green"}
Grades = Mapping[str, Sequence[StudentGrade]]  # by submission


def said(known: DecidedClass, submission: str, language: str) -> Decisions:
    """What people decided about a submission, in words, by what it is about."""
    found: dict[str, str] = {}
    for ruling in about(known.line(submission), known.book):
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

    Args:
        differences: In order.
        same: How many submissions are as they were; None to say nothing of the class.
        rubric: Has the titles.
        lang: ``en`` or ``zh``.
    """
    kind = None
    for own in differences:
        if own.kind is not kind:
            kind = own.kind
            number = sum(other.kind is kind for other in differences)
            say(f"{words.KINDS[kind][lang]}: {number}", "bold")
        say(f"  {own.id}: {words.arrow(words.points(own))} ({own.change:+g})", STYLES.get(own.kind, ""))
        for grade in words.grades(own, lang):
            say(f"    {grade}")
        for change in own.changes:
            ended, earned = words.arrow(words.outcomes(change)), words.arrow(words.worth(change))
            say(f"    {words.title(change, rubric, lang)}: {ended}, {earned}")
            _print_reasons(words.reasons(change.reasons, lang))
        told = {reason for change in own.changes for reason in change.reasons}
        _print_reasons(words.reasons(tuple(reason for reason in own.reasons if reason not in told), lang))
    if same is None:
        return
    if not differences:
        say(words.word("nothing", lang))
    say(words.word("same", lang, n=same))


def _print_reasons(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        say(f"      {sentence}", "dim")


def print_preview(preview: Preview, out: Path, assignment: Assignment, language: str) -> None:
    """Print who would have other points or another grade, and which thresholds are crossed."""
    rubric = assignment.rubric
    try:
        book = _decisions(out, rubric)
        before, after, differences = [], [], {}
        for old, new in preview.pairs():
            old, new = (decided(own, book, rubric) for own in (old, new))
            before.append(summary_line(old))
            after.append(summary_line(new))
            differences[new.submission.id] = difference(old, new)
    except (LedgerError, DecisionError) as error:
        fail(str(error))
    sides = (
        _by_submission(grades(before, book, preview.policy or rubric.policy)),
        _by_submission(grades(after, book, rubric.policy)),
    )
    found = [graded(differences[line.id], line, sides, rubric.policy.thresholds) for line in after]
    print_differences(in_order(filter(None, found)), found.count(None), rubric, language)
    if preview.unknown:
        say(words.word("unknown", language, n=preview.unknown))
    say(words.word("dry_run", language))


def _decisions(out: Path, rubric: Rubric) -> Book:
    def reports(submission: str) -> Report:
        return as_graded(out, submission)

    return decisions_of(out, read_class(out), reports, rubric, note=False) if out.exists() else NOTHING


def _by_submission(found: Iterable[StudentGrade]) -> Mapping[str, Sequence[StudentGrade]]:
    by_submission: dict[str, list[StudentGrade]] = {}
    for own in found:
        by_submission.setdefault(own.line.id, []).append(own)
    return by_submission
