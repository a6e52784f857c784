"""``grader grade --dry-run``: known results under the current rubric, without running or writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from grader.core.cli.terminal import fail, read_graded, say
from grader.core.intake.candidate import Candidate
from grader.core.intake.reading_process import Reader
from grader.core.results.database import LEDGER, opened
from grader.core.results.ledger import Ledger
from grader.core.results.report import Report, summary_line, with_origin
from grader.core.results.views import viewed
from grader.core.rubric import Policy
from grader.core.settings import Conditions, Settings, conditions, view
from grader.followup.difference import in_order
from grader.followup.terminal import changed, print_differences, word


def print_preview(out: Path, candidates: Sequence[Candidate], settings: Settings, reader: Reader) -> None:
    """Print whose points or grade would change, and which thresholds are crossed."""
    rubric, language = settings.assignment.rubric, settings.language
    if not (out / LEDGER).exists():
        fail(f"{out}: no grades there yet. Grade without --dry-run first.")
    known = read_graded(out, quiet=True, note=False)
    with opened(out) as connection:
        ledger = Ledger(connection, conditions(settings), view(settings))
        recorded, policy = ledger.recorded(), policy_of(ledger.details()) or rubric.policy
        reasons = ledger.differing(one.id for one in candidates)
        kept = {
            candidate.id: (earlier.result, candidate.origin)
            for candidate in candidates
            if (earlier := recorded.get(candidate.id)) and earlier.is_of(reader.read(candidate))
        }

        @lru_cache(maxsize=1)  # both sides read it, and thousands do not fit into memory
        def before(submission: str) -> Report:
            """The report that a run would reuse, as recorded."""
            return ledger.report(kept[submission][0])

        def now(submission: str) -> Report:
            """The same under the current rubric; in English."""
            report = with_origin(before(submission), kept[submission][1])
            return viewed(report, settings.assignment, settings.only)

        lines = [(summary_line(before(name)), summary_line(now(name))) for name in kept]
        then = rubric.model_copy(update={"policy": policy})
        old = replace(known, lines=[line for line, _ in lines], rubric=then, as_graded=before)
        new = replace(known, lines=[line for _, line in lines], rubric=rubric, as_graded=now)
        found = [changed(old, new, name, language) for name in kept]
    unknown = len(candidates) - len(kept)
    if found or not unknown:
        print_differences(in_order(filter(None, found)), found.count(None), rubric, language)
    if unknown:
        say(word(language, "unknown", n=unknown))
    if reasons:
        say(word(language, "conditions", names=", ".join(reasons)))
    say(word(language, "dry_run"))


def policy_of(details: Sequence[Conditions]) -> Policy | None:
    """The policy under which reports were last written; None where that is not known, or not the same for all."""
    found = {conditions.get("policy", "") for conditions in details}
    return Policy.model_validate_json(*found) if len(found) == 1 and found != {""} else None
