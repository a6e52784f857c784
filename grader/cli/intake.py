"""What the commands that take submissions share: finding them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..intake.candidate import Candidate
from ..intake.discover import FOLDERS, PLATFORMS, IntakeError, discover
from ..intake.roster import RosterError, read_roster
from .terminal import fail

SOURCES = (*PLATFORMS, FOLDERS)

# Two options of such a command; the third thing that they take, the paths, each explains in its own words.
Source = Annotated[str | None, typer.Option("--from", help=f"What PATH is: {', '.join(SOURCES)}. Default: found out.")]
Roster = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Everyone who should have handed in, by name, id or address.")
]


def found(paths: Sequence[Path], source: str | None, roster: Path | None) -> list[Candidate]:
    """Every submission below the paths, or the end of the command."""
    if source not in (None, *SOURCES):
        fail(f"--from {source}: not a source. Choose one of {', '.join(SOURCES)}.")
    try:
        return discover(paths, source, read_roster(roster) if roster else ())
    except (IntakeError, RosterError) as error:
        fail(str(error))
