"""``grader grade --dry-run``: known results under the current rubric; runs nothing, writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from grader.core.cli.decided import as_graded
from grader.core.cli.differences import graded, print_differences
from grader.core.cli.terminal import fail, read_class, say
from grader.core.grades.book import NOTHING, Book
from grader.core.grades.grades import StudentGrade, decided, grades
from grader.core.grades.in_force import decisions_of
from grader.core.grades.model import DecisionError
from grader.core.intake.candidate import Candidate
from grader.core.intake.reader import Reader
from grader.core.results import difference_words as words
from grader.core.results.database import LEDGER, LedgerError, opened
from grader.core.results.difference import difference, in_order
from grader.core.results.ledger import Ledger
from grader.core.results.report import Report, summary_line, with_origin
from grader.core.results.view import viewed
from grader.core.rubric import Policy, Rubric
from grader.core.run.conditions import conditions, policy_of, view
from grader.core.settings import Settings


class Preview:
    """The reports of results that a run would keep, before and after rewriting.

    Attributes:
        unknown: How many submissions have no result that can be used, so that they would be graded.
        reasons: What differs from the conditions of earlier results.
        policy: The policy when the reports were last written; None where the ledger does not know.
    """

    def __init__(self, out: Path, candidates: Sequence[Candidate], settings: Settings, reader: Reader) -> None:
        self._out, self._candidates, self._settings, self._reader = out, candidates, settings, reader
        self.unknown = 0
        self.reasons: list[str] = []
        self.policy: Policy | None = None

    def pairs(self) -> Iterator[tuple[Report, Report]]:
        """Each report as the ledger has it, and as the present rubric would make it; both in English.

        Raises:
            LedgerError: If there is no ledger, or it cannot be used.
        """
        if not (self._out / LEDGER).exists():
            raise LedgerError(f"{self._out}: no grades there yet. Grade without --dry-run first.")
        own = self._settings
        with opened(self._out) as connection:
            ledger = Ledger(connection, conditions(own), view(own))
            self.policy = policy_of(ledger.details())
            entries, here = ledger.entries(), conditions(own)
            earlier = ledger.other_conditions(one.id for one in self._candidates)
            self.reasons = sorted({name for one in earlier for name in here if one.get(name) != here[name]})
            for candidate in self._candidates:
                entry = entries.get(candidate.id)
                if entry is None or not entry.is_of(self._reader.read(candidate)):
                    self.unknown += 1
                    continue
                before = Report.model_validate_json(ledger.copy(entry.result))
                yield before, viewed(with_origin(before, candidate.origin), own.assignment, own.only, "en")


def print_preview(out: Path, candidates: Sequence[Candidate], settings: Settings, reader: Reader) -> None:
    """Print who would have other points or another grade, and which thresholds are crossed."""
    preview = Preview(out, candidates, settings, reader)
    rubric, language = settings.assignment.rubric, settings.language
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
    if found or not preview.unknown:
        print_differences(in_order(filter(None, found)), found.count(None), rubric, language)
    if preview.unknown:
        say(words.word(language, "unknown", n=preview.unknown))
    if preview.reasons:
        say(words.word(language, "conditions", names=", ".join(preview.reasons)))
    say(words.word(language, "dry_run"))


def _decisions(out: Path, rubric: Rubric) -> Book:
    def reports(submission: str) -> Report:
        return as_graded(out, submission)

    return decisions_of(out, read_class(out), reports, rubric, note=False) if out.exists() else NOTHING


def _by_submission(found: Iterable[StudentGrade]) -> Mapping[str, Sequence[StudentGrade]]:
    by_submission: dict[str, list[StudentGrade]] = {}
    for own in found:
        by_submission.setdefault(own.line.id, []).append(own)
    return by_submission
