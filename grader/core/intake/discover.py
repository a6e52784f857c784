"""Finds the submissions below a path: one folder, a folder of folders and zips, a zip, or a platform's export."""

from __future__ import annotations

import contextlib
import itertools
import os
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from grader import SUBMITTED
from grader.core.extras import extra
from grader.core.messages import UserError, say

from .archives import (
    INSTEAD,
    OTHERS,
    START_BYTES,
    archive_kind,
    is_archive_name,
    read_entry,
    without_archive_suffix,
    zip_entries,
)
from .candidate import NOWHERE, Candidate, Place, escaped, on_disk, read_file, safe_id
from .layout import expected_path
from .origin import Found, Part, Student
from .roster import latest, with_roster
from .submission import ANYTHING, Expected, Unreadable, open_regular


@dataclass(frozen=True)
class Listing:
    """What is directly in a folder, in a zip, or in a folder inside a zip.

    ``submissions(listing)`` of a platform's extra returns one :class:`Found` for each submission, and none if it is no
    such export.

    Attributes:
        path: The folder, or the zip.
        root: The folder inside the zip, with a slash at its end; empty for a folder, and for the zip itself.
    """

    path: Path
    root: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, sorted; folders end in a slash, and what macOS adds is left out.

        Raises:
            Unreadable: If a zip lists too many files.
            OSError: If it cannot be read.
            zipfile.BadZipFile: If the zip is damaged; zipfile may raise other exceptions, too.
        """
        if self.path.is_dir():
            with os.scandir(self.path) as entries:
                found = {entry.name + "/" * entry.is_dir() for entry in entries}
        else:
            inside = (name.removeprefix(self.root) for name in self._entries if name.startswith(self.root))
            found = {first + slash for first, slash, _ in (name.partition("/") for name in inside) if first}
        return tuple(sorted(name for name in found if not name.startswith(("._", "__MACOSX"))))

    @property
    def visible(self) -> tuple[str, ...]:
        """The names that do not begin with a dot."""
        return tuple(name for name in self.names if not name.startswith("."))

    @cached_property
    def _entries(self) -> dict[str, zipfile.ZipInfo]:
        return zip_entries(partial(open_regular, self.path))

    def inside(self, name: str) -> Listing:
        """The listing of a folder in this one."""
        return Listing(self.path / name) if self.path.is_dir() else Listing(self.path, f"{self.root}{name}")

    def rooted(self, part: Part) -> Part:
        """The same part with paths from the top of the zip rather than of this listing."""
        files = {shown: self.root + name for shown, name in part.files.items()}
        return Part(below=part.below and self.root + part.below, files=files)

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        if self.path.is_dir():
            return os.path.lexists(self.path / name)
        return any(entry == self.root + name or entry.startswith(f"{self.root}{name}/") for entry in self._entries)

    def read(self, name: str, limit: int) -> bytes:
        """Read at most ``limit + 1`` bytes of one file.

        Raises:
            Unreadable: If it is not a regular file, or damaged.
            KeyError: If a zip has no file of that name.
            OSError: If the system refuses.
        """
        if self.path.is_dir():
            return read_file(self.path, name, limit)
        return read_entry(partial(open_regular, self.path), self._entries[self.root + name], limit)


FOLDERS = "folders"
LOOSE = say("{called} is a single file outside every submission. Move it into its student's folder.")
# The extras of platforms in the order in which they are tried: those with more distinctive file names first.
PLATFORMS = ("gradescope", "moodle", "canvas", "clones")


class IntakeError(UserError):
    """A path that holds no submission."""


def discover(
    paths: Iterable[Path],
    source: str | None = None,
    roster: Sequence[Student] = (),
    expected: Expected = ANYTHING,
    every_attempt: bool = False,
    known: Mapping[str, Place] | None = None,
    apart: bool = False,
) -> list[Candidate]:
    """Every submission below ``paths``, with unique ids, sorted by id.

    Args:
        paths: Submissions, folders of submissions, zips, exports.
        source: The platform that exported them, or ``folders``; None to find out.
        roster: Everyone who should have handed in; whoever has not becomes a candidate with nothing to read.
        expected: The files that are asked for.
        every_attempt: Whether to keep what the same students handed in earlier as well.
        known: Ids of submissions found earlier, and where each was found. They stay theirs if ``ADA`` arrives beside
            ``ada``, or ``a b`` beside ``a_b``.
        apart: Whether a submission of the same name in another place is another one, rather than its new version.

    Raises:
        IntakeError: If a path does not exist, or holds nothing that could be a submission.
    """
    candidates = [candidate for path in paths for candidate in _candidates(path, source, expected)]
    named = with_roster(candidates, roster) if roster else candidates
    named = [replace(one, name=escaped(one.id), expected=expected) for one in named]
    found = _with_ids(named if every_attempt else latest(named), known or {}, apart)
    return sorted(found, key=lambda candidate: candidate.id)


def _with_ids(candidates: Sequence[Candidate], known: Mapping[str, Place], apart: bool) -> Iterator[Candidate]:
    """The candidates, each with the id that it had, or else one that nobody has had under another name."""
    theirs: dict[Place, list[str]] = {}
    for name, place in known.items():
        theirs.setdefault(place, []).append(name)
    here = {name for candidate in candidates for name in theirs.get(candidate.place, ())}
    taken = {*map(on_disk, known)}
    for candidate in candidates:

        def free(name: str, called: str = candidate.name) -> bool:
            place = known.get(name) if name not in here else None
            newer = place and (place == NOWHERE or (called in (place[1], name) and not apart))
            return bool(newer) or on_disk(name) not in taken

        wanted, had = safe_id(candidate.id), theirs.get(candidate.place)
        numbered = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
        name = had.pop(0) if had else next(filter(free, numbered))
        here.add(name)
        taken.add(on_disk(name))
        yield replace(candidate, id=name)


def _called(path: Path) -> str:
    return without_archive_suffix(path.name)


def _candidates(path: Path, source: str | None, expected: Expected) -> list[Candidate]:
    if not path.exists():
        raise IntakeError(f"{path}: no such file or folder. Give a submission, a folder of submissions, or a zip.")
    there = path.resolve()  # a link is followed if a person named it, and not in a folder of students' files
    whole = [Candidate(_called(there if path.is_dir() else path), there)]
    if path.is_dir():
        if source is None and _is_submission(there, expected):
            return whole
    elif not _is_archive(there):
        raise IntakeError(f"{path}: not a zip archive. Give a folder or a .zip file.")
    try:
        if found := _in_export(Listing(there), source, expected):
            return found
        if source not in (None, FOLDERS):
            raise IntakeError(f"{path}: not a {source} export. Omit --from to detect the source.")
        children = whole if path.is_file() and source is None else _each(Listing(there), (), expected)
    except UserError:
        raise
    except Exception as error:  # zipfile may raise anything for damaged or hostile bytes
        if path.is_file() and source is None:
            return whole  # reading it says what is wrong
        raise IntakeError(f"{path}: cannot be read ({error}).") from None
    if not children:
        raise IntakeError(f"{path}: no submission found. Expected src/, or one folder or zip for each student.")
    return children


def _is_archive(path: Path) -> bool:
    """Whether a file can be opened as an archive; never waits for a pipe."""
    try:
        with open_regular(path) as file:
            return archive_kind(file.read(START_BYTES)) in ("zip", "tar") or zipfile.is_zipfile(file)
    except (Unreadable, OSError):
        return False


def _is_submission(folder: Path, expected: Expected) -> bool:
    """Whether a folder is one submission rather than many: ``src/`` or an expected file is directly in it.

    An expected file beside more submissions than such files is a stray one, and no reason to lose all the others.
    """
    children = sorted(folder.iterdir())
    loose = sum(expected_path(child.name, expected) is not None for child in children)
    parents = {SUBMITTED, *(part for path in expected for part in PurePosixPath(path).parts[:-1] if loose)}
    if any(child.name in parents and child.is_dir() for child in children):
        return True
    return loose > 0 and sum(_may_be_submission(child, expected) for child in children) <= max(1, loose)


def _may_be_submission(path: Path, expected: Expected) -> bool:
    """Whether something in a folder may be a submission: an archive, or ``src/`` or an expected file is in it."""
    if path.is_symlink() or not path.is_dir():
        return is_archive_name(path.name)
    with contextlib.suppress(OSError):
        return any(child.name == SUBMITTED or expected_path(child.name, expected) for child in path.iterdir())
    return False


def _in_export(top: Listing, source: str | None, expected: Expected) -> list[Candidate]:
    """The submissions of a platform's export, found at its top or in the only folder there; none if it is no export."""
    # A zip with a clone in it is one student's submission, unless a person says otherwise.
    detected = [name for name in PLATFORMS if name != "clones" or top.path.is_dir()]
    sources = detected if source is None else {*PLATFORMS} & {source}
    only = [name for name in top.visible if name.endswith("/")] if len(top.visible) == 1 else []
    for listing in (top, *map(top.inside, only)):
        for name in sources:
            if (platform := extra(name)) and (found := platform.submissions(listing)):
                claimed = {entry for each in found for entry in each.claimed}
                return [_candidate(each, listing) for each in found] + _each(listing, claimed, expected)
    return []


def _candidate(found: Found, listing: Listing) -> Candidate:
    part = listing.rooted(found.part)
    return Candidate(found.id, listing.path, part=part, origin=found.origin, notices=found.notices)


def _each(listing: Listing, claimed: Collection[str], expected: Expected) -> list[Candidate]:
    """A submission for each folder and archive that is not ``claimed`` already, so that none is left out unnoticed.

    Another file that looks handed in, such as a 7z archive, a notebook, or a single file of somebody's work, becomes a
    submission that cannot be read. But a folder of single files alone, perhaps of one student, is no class.
    """
    others = [name for name in listing.visible if name not in claimed]
    works = {name for name in others if name.endswith("/") or _handed_in(name) or (listing.path / name).is_symlink()}
    found = []
    for name in others:
        path, is_folder = listing.path / name, name.endswith("/")
        loose = name not in works and (works or claimed) and _may_be_work(name, expected)
        if name not in works and not loose:
            continue
        reason = LOOSE.filled(called=name) if loose else None
        if listing.path.is_dir() and (is_folder or is_archive_name(name) or path.is_symlink()):
            found.append(Candidate(_called(path), path, reason=reason))
        else:
            part = listing.rooted(Part(below=name) if is_folder else Part(files={name: name}))
            found.append(Candidate(_called(path), listing.path, part=part, reason=reason))
    return found


def _handed_in(name: str) -> bool:
    """Whether a file in a folder of submissions may be one: an archive, or a file that students send in its place."""
    return is_archive_name(name) or name.lower().endswith((*OTHERS, *INSTEAD))


def _may_be_work(name: str, expected: Expected) -> bool:
    """Whether a file beside submissions may be a part of one: Python, or a text called after what is asked for."""
    path = PurePosixPath(name.lower())
    called = any(PurePosixPath(wanted).stem.lower() in path.stem for wanted in expected)
    return ".py" in path.name or (called and path.suffix in ("", ".txt"))
