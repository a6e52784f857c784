"""``grader grade --dry-run``: known results under the current rubric, without running or writing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.core.cli.terminal import fail, read_decided, say
from grader.core.grades.decided import grades
from grader.core.intake.candidate import Candidate
from grader.core.intake.reader import Reader
from grader.core.results.database import LEDGER, opened
from grader.core.results.language import overridden, viewed
from grader.core.results.ledger import Ledger
from grader.core.results.report import Report, summary_line, with_origin
from grader.core.rubric import Policy
from grader.core.settings import Conditions, Settings, conditions, view
from grader.followup.difference import difference, in_order
from grader.followup.terminal import graded, print_differences, word


def print_preview(out: Path, candidates: Sequence[Candidate], settings: Settings, reader: Reader) -> None:
    """Print whose points or grade would change, and which thresholds are crossed."""
    rubric, language = settings.assignment.rubric, settings.language
    if not (out / LEDGER).exists():
        fail(f"{out}: no grades there yet. Grade without --dry-run first.")
    before, after, differences = [], [], {}
    book = read_decided(out, quiet=True, note=False).book
    with opened(out) as connection:
        ledger = Ledger(connection, conditions(settings), view(settings))
        policy = policy_of(ledger.details()) or rubric.policy
        reasons = ledger.differing(one.id for one in candidates)
        for pair in _kept(ledger, candidates, settings, reader):
            old, new = (overridden(own, book.points(own.submission.id), rubric) for own in pair)
            before.append(summary_line(old))
            after.append(summary_line(new))
            differences[new.submission.id] = difference(old, new)
    sides = grades(before, book, policy), grades(after, book, rubric.policy)
    found = [graded(differences[line.id], line, sides, rubric.policy.thresholds) for line in after]
    unknown = len(candidates) - len(after)
    if found or not unknown:
        print_differences(in_order(filter(None, found)), found.count(None), rubric, language)
    if unknown:
        say(word(language, "unknown", n=unknown))
    if reasons:
        say(word(language, "conditions", names=", ".join(reasons)))
    say(word(language, "dry_run"))


def _kept(
    ledger: Ledger, candidates: Sequence[Candidate], own: Settings, reader: Reader
) -> Iterator[tuple[Report, Report]]:
    """Each report that a run would reuse, as recorded and under the current rubric; in English."""
    recorded = ledger.recorded()
    for candidate in candidates:
        if (known := recorded.get(candidate.id)) and known.is_of(reader.read(candidate)):
            before = ledger.report(known.result)
            yield before, viewed(with_origin(before, candidate.origin), own.assignment, own.only, "en")


def policy_of(details: Sequence[Conditions]) -> Policy | None:
    """The policy under which reports were last written; None where that is not known, or not the same for all.

    Rules that have ended since, which older ledgers name, are left out.
    """
    found = {own.get("policy", "") for own in details}
    if len(found) != 1 or found == {""}:
        return None
    noted = json.loads(*found)
    return Policy.model_validate({name: noted[name] for name in noted.keys() & Policy.model_fields.keys()})
