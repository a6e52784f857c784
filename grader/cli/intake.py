"""Finds the submissions that a command is given, and defines the options for that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..intake.attendance import with_lateness
from ..intake.candidate import Candidate
from ..intake.discover import FOLDERS, PLATFORMS, IntakeError
from ..intake.reader import Reader
from ..intake.roster import RosterError, read_lateness, read_roster
from ..intake.submission import Expected
from .terminal import fail

SOURCES = (*PLATFORMS, FOLDERS)

# Two options that several commands share; each command describes its paths in its own words.
Source = Annotated[str | None, typer.Option("--from", help=f"What PATH is: {', '.join(SOURCES)}. Default: found out.")]
Roster = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Everyone who should have handed in, by name, id or address.")
]


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
        wanted = ASSIGNMENT.rubric.expected if expected is None else expected
        candidates = reader.discover(paths, source, listed, wanted, every_attempt)
        return with_lateness(candidates, read_lateness(roster)) if roster else candidates
    except (IntakeError, RosterError) as error:
        fail(str(error))
