"""How commands find submissions, and the settings of a grading, and the options for that."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from grader.core.extras import extra
from grader.core.grades.model import DecisionError
from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import FOLDERS, PLATFORMS, IntakeError
from grader.core.intake.reader import Reader
from grader.core.intake.roster import RosterError, read_lateness, read_roster, with_lateness
from grader.core.intake.submission import Expected, Submission
from grader.core.results.database import LEDGER, LedgerError, reading
from grader.core.results.ledger import details_of
from grader.core.results.report import Report
from grader.core.results.written import Sources, noted
from grader.core.run.conditions import settings_of
from grader.core.settings import Settings

from .terminal import chosen, ending, fail, warn

SOURCES = (*PLATFORMS, FOLDERS)

# Two options that several commands share; each command describes its paths in its own words.
Source = Annotated[str | None, typer.Option("--from", help=f"Source of PATH: {', '.join(SOURCES)}. Default: detected.")]
Roster = Annotated[Path | None, typer.Option(metavar="CSV", help="Everyone expected to submit, by name, id or email.")]


def found(
    reader: Reader,
    paths: Sequence[Path],
    source: str | None,
    roster: Path | None,
    every_attempt: bool = False,
    expected: Expected | None = None,
) -> list[Candidate]:
    """Every submission below the paths; ends the command with one line if they cannot be found.

    Args:
        reader: Finds and reads them.
        paths: Where they are.
        source: The platform that they come from; None to find out.
        roster: Who should have handed in.
        every_attempt: Whether to take what students handed in earlier, too.
        expected: The files that are asked for; None for those of the rubric.
    """
    if source not in (None, *SOURCES):
        fail(f"--from {source}: not a source. Choose one of {', '.join(SOURCES)}.")
    try:
        listed = read_roster(roster) if roster else ()
        wanted = chosen().rubric.expected if expected is None else expected
        candidates = reader.discover(paths, source, listed, wanted, every_attempt)
        return with_lateness(candidates, read_lateness(roster)) if roster else candidates
    except (IntakeError, RosterError) as error:
        fail(str(error))


def with_files(out: Path, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """The candidates, with misnamed files renamed as decisions in a folder of reports say.

    A mistake in the decisions does not stop grading; it is reported when grades are shown or exported.
    """
    with contextlib.suppress(DecisionError):
        return decisions.with_files(out, candidates) if (decisions := extra("decisions")) else candidates
    return candidates


Submissions = Annotated[
    list[Path] | None,
    typer.Option(
        "--submissions", metavar="PATH", help="Current location of the submissions. Default: where they were graded."
    ),
]


def _sources_of(out: Path, submissions: list[Path] | None) -> list[Sources]:
    """What ``grade`` was given, from other places if these are named; ends the command if nobody knows any place."""
    runs = noted(out)
    if not submissions and not runs:
        fail(f"{out}: no record of where its submissions are. Pass their location with --submissions.")
    last = runs[-1] if runs else Sources(paths=[])
    return [last.model_copy(update={"paths": [*map(str, submissions)]})] if submissions else runs


def candidates_of(out: Path, submissions: list[Path] | None, reader: Reader) -> dict[str, Candidate]:
    """The submissions of a folder of reports, by their ids; ends the command with one line if they cannot be found.

    Args:
        out: The folder of reports.
        submissions: Where the submissions lie now; None or empty for where ``grade`` found them.
        reader: Looks for them.
    """
    known: dict[str, Candidate] = {}
    for sources in _sources_of(out, submissions):
        paths = [Path(path) for path in sources.paths]
        for path in paths:
            if not path.exists():
                fail(f"{path}: submissions no longer there. Pass their current location with --submissions.")
        roster = Path(sources.roster) if sources.roster else None
        if roster and not roster.exists():
            fail(f"{roster}: the roster is missing, and names may depend on it. Restore it, or regrade.")
        candidates = found(reader, paths, sources.source, roster, sources.every_attempt)
        known |= {own.id: own for own in candidates if own.id not in known or own.reason is None}
    return {own.id: own for own in with_files(out, [*known.values()])}


def settings_then(out: Path, report: Report) -> Settings:
    """The settings under which a submission was graded, as far as they are known."""
    devices = report.environment.devices
    known = Settings(chosen(), "cpu" if devices == ["cpu"] else "auto", seed=report.provenance.seed)
    if not (out / LEDGER).exists():
        return known
    with ending(out, LedgerError), reading(out) as ledger:
        details = details_of(ledger, report.submission.id)
    return settings_of(details, chosen()) if details else known


def say_what_differs(report: Report, submission: Submission) -> None:
    """Warn where this is not what was graded."""
    if submission.sha256 != report.submission.sha256:
        was = {file.path: file.sha256 for file in report.submission.files}
        warn(
            f"{submission.id}: the files changed since grading ({_changed(submission, was)}): "
            f"{report.submission.sha256[:12]} then, {submission.sha256[:12]} now. Running the current files.",
            "yellow",
        )
    if report.provenance.rubric_sha256 != chosen().rubric.sha256:
        warn("the rubric changed since grading: wording and points may differ.", "yellow")


def _changed(submission: Submission, was: dict[str, str]) -> str:
    """The paths that differ."""
    now = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in submission.files.items()}
    return ", ".join(sorted(path for path in was.keys() | now.keys() if was.get(path) != now.get(path)))
