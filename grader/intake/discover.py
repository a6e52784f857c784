"""Tells submissions apart: one folder, a folder of folders and zips, a zip, or what a learning platform exports."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from . import canvas, clones, gradescope, moodle
from .attendance import latest, with_roster
from .candidate import Candidate, identifier, safe_id, unused
from .layout import expected_path
from .listing import Listing
from .origin import Found, Part, Student
from .submission import PACKAGE

FOLDERS = "folders"
# In the order in which they are tried: the more its names must look like, the earlier.
PLATFORMS: Mapping[str, Callable[[Listing], list[Found]]] = {
    "gradescope": gradescope.split,
    "moodle": moodle.split,
    "canvas": canvas.split,
    "clones": clones.split,
}


class IntakeError(Exception):
    """A path that holds no submission; one line that says what, and what to do."""


def discover(paths: Iterable[Path], source: str | None = None, roster: Sequence[Student] = ()) -> list[Candidate]:
    """Every submission below ``paths``, each with an id that no other has, sorted by it.

    Args:
        paths: Submissions, folders of them, zips, exports.
        source: Whose export they are, or ``folders``; None to find out.
        roster: Everyone who should have handed in; whoever has not becomes a candidate with nothing to read.

    Raises:
        IntakeError: If a path does not exist, or holds nothing that could be one.
    """
    candidates = [candidate for path in paths for candidate in _candidates(path, source)]
    found: dict[str, Candidate] = {}
    for candidate in latest(with_roster(candidates, roster) if roster else candidates):
        own = unused(candidate.id, found)
        found[own] = replace(candidate, id=own)
    return [found[own] for own in sorted(found)]


def _candidates(path: Path, source: str | None) -> list[Candidate]:
    if not path.exists():
        raise IntakeError(f"{path}: no such file or folder. Give a submission, a folder of submissions, or a zip.")
    if path.is_file() and not zipfile.is_zipfile(path):
        raise IntakeError(f"{path}: not a zip archive. Give a folder or a .zip file.")
    if source is None and path.is_dir() and _is_submission(path):
        return [Candidate(identifier(path.resolve()), path)]
    if found := _in_export(path, source):
        return found
    if source not in (None, FOLDERS):
        raise IntakeError(f"{path}: holds no {source} export. Leave --from out to have it recognised.")
    if path.is_file() and source is None:
        return [Candidate(identifier(path), path)]
    children = _each(Listing(path), claimed=())
    if not children:
        raise IntakeError(f"{path}: holds no submission. Expected src/ in it, or one folder or zip for each student.")
    return children


def _is_submission(folder: Path) -> bool:
    """Whether a folder is one submission rather than many: ``src/`` or an expected file lies directly in it."""
    return (folder / PACKAGE).is_dir() or any(expected_path(child.name) for child in folder.iterdir())


def _in_export(path: Path, source: str | None) -> list[Candidate]:
    """What a platform's export holds, at the top or in the only folder there; nothing where this is none."""
    sources = [name for name in PLATFORMS if source in (None, name)]
    if source is None and path.is_file():
        sources.remove("clones")  # a zip with a clone in it is one student's
    try:
        top = Listing(path)
        only = [name for name in top.visible if name.endswith("/")] if len(top.visible) == 1 else []
        for listing in (top, *map(top.inside, only)):
            for name in sources:
                if found := PLATFORMS[name](listing):
                    claimed = {entry for each in found for entry in each.claimed}
                    return [_candidate(each, listing) for each in found] + _each(listing, claimed)
    except Exception as error:  # zipfile raises whatever damaged or hostile bytes lead it to
        if path.is_dir():
            raise IntakeError(f"{path}: cannot be read ({error}).") from None
    return []


def _candidate(found: Found, listing: Listing) -> Candidate:
    return Candidate(
        safe_id(found.id), listing.path, part=listing.rooted(found.part), origin=found.origin, notices=found.notices
    )


def _each(listing: Listing, claimed: Iterable[str]) -> list[Candidate]:
    """A submission for each folder and zip that no platform's naming claims: nothing is passed over in silence."""
    own = [name for name in listing.visible if name not in claimed and name.lower().endswith((".zip", "/"))]
    if listing.path.is_dir():
        return [Candidate(identifier(Path(name)), listing.path / name) for name in own]
    parts = {name: Part(below=name) if name.endswith("/") else Part(files={name: name}) for name in own}
    return [Candidate(identifier(Path(name)), listing.path, part=listing.rooted(part)) for name, part in parts.items()]
