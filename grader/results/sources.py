"""Where the submissions of a folder of reports lie: noted by ``grade``, for commands that read them again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from .report import Record, write_json

SOURCES = "sources.json"


class Sources(Record):
    """What the last ``grade`` into a folder was given.

    Attributes:
        paths: Submissions, folders of them or exports, relative to the folder of reports: both may move together.
        every_attempt: Whether earlier attempts of the same students were graded as well.
        source: The value of ``--from``; None where it was found out.
        roster: The path of the roster; None where none was given.
    """

    paths: list[str]
    source: str | None = None
    roster: str | None = None
    every_attempt: bool = False


def note(
    out: Path, paths: Iterable[Path], source: str | None, roster: Path | None, every_attempt: bool = False
) -> None:
    """Note in a folder of reports where its submissions lie.

    Raises:
        OSError: If the file cannot be written.
    """
    here = os.path.abspath(out)
    relative = [os.path.relpath(path, here) for path in paths]
    kept = os.path.relpath(roster, here) if roster else None
    whole = Sources(paths=relative, source=source, roster=kept, every_attempt=every_attempt)
    write_json(out / SOURCES, whole)


def noted(out: Path) -> Sources | None:
    """What was noted, with absolute paths; None where nothing was, or the file is damaged."""
    try:
        found = Sources.model_validate_json((out / SOURCES).read_bytes())
    except (OSError, ValidationError):
        return None
    paths = [os.path.abspath(out / path) for path in found.paths]
    return found.model_copy(update={"paths": paths, "roster": found.roster and os.path.abspath(out / found.roster)})
