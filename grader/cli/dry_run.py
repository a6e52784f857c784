"""``grader grade --dry-run``: whom a change of points, deadline or cap moves, before it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..decisions.book import NOTHING, Book
from ..decisions.folder import decisions_of
from ..decisions.grades import StudentGrade, decided, grades
from ..decisions.model import DecisionError
from ..definition import Assignment
from ..pages import diff_words as words
from ..pool.preview import Preview
from ..results.database import LedgerError
from ..results.diff import difference, in_order
from ..results.report import Report, summary_line
from ..rubric import Rubric
from .compare import graded, print_differences
from .decided import as_graded
from .terminal import fail, read_class, say


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
