"""How commands find submissions, and the options for that."""

from __future__ import annotations

import contextlib
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
from grader.core.intake.submission import Expected

from .terminal import chosen, fail

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

    Without a ``source``, it is found out which platform they come from; the expected files are those of the rubric,
    unless others are given. With ``every_attempt``, what students handed in earlier is taken, too.
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
