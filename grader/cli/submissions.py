"""How commands that come after grading find the submissions again, and the option for that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..intake.candidate import Candidate
from ..intake.reader import Reader
from ..results.sources import Sources, noted
from .intake import found
from .terminal import fail

Submissions = Annotated[
    list[Path] | None,
    typer.Option(
        "--submissions", metavar="PATH", help="Where the submissions lie now. Default: where they were graded."
    ),
]


def sources_of(out: Path, submissions: list[Path] | None) -> Sources:
    """What ``grade`` was given, from other places if these are named; ends the command if nobody knows any place."""
    before = noted(out)
    if not submissions and before is None:
        fail(f"{out}: holds no note of where its submissions lie. Give the place with --submissions.")
    known = before or Sources(paths=[])
    return known.model_copy(update={"paths": [*map(str, submissions)]}) if submissions else known


def candidates_of(out: Path, submissions: list[Path] | None, reader: Reader) -> dict[str, Candidate]:
    """The submissions of a folder of reports, by their ids; ends the command with one line if they cannot be found.

    Args:
        out: The folder of reports.
        submissions: Where the submissions lie now; None or empty for where ``grade`` found them.
        reader: Looks for them.
    """
    sources = sources_of(out, submissions)
    paths = [Path(path) for path in sources.paths]
    for path in paths:
        if not path.exists():
            fail(f"{path}: no submissions there any more. Give the place where they lie now with --submissions.")
    roster = Path(sources.roster) if sources.roster else None
    if roster and not roster.exists():
        fail(f"{roster}: the roster is no longer there, and names may depend on it. Put it back, or grade again.")
    return {own.id: own for own in found(reader, paths, sources.source, roster, sources.every_attempt)}
