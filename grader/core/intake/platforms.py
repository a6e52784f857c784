"""Exports of learning platforms: the listing of one, a folder or a zip alike, and whose the files at its top are.

The function of a platform returns one :class:`Found` for each submission, and none if it is not such an export.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from .archives import listed, name_of, read_entry
from .candidate import read_file
from .layout import copy_number, handed_in_again, without_copy_suffix
from .origin import Found, Origin, Part, Student, clean
from .roster import PARTICIPANT


@dataclass(frozen=True)
class Listing:
    """What is directly in a folder, in a zip, or in a folder inside a zip.

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
        with self.path.open("rb") as file:
            return {name_of(entry): entry for entry in listed(file)}

    @property
    def folder(self) -> str:
        """The name of the folder, or of the zip."""
        return (Path(self.root) if self.root else self.path.resolve()).name

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
        with self.path.open("rb") as file:
            return read_entry(file, self._entries[self.root + name], limit)


_WHAT = r"(?:(?P<attachment>[0-9]{1,20})_(?P<file>[^/]+)|(?P<page>text|link)\.html)"
_NAMED = re.compile(rf"(?P<name>.*?)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_WHAT}", re.DOTALL)
_ANONYMOUS = re.compile(rf"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[^_\W]+)_{_WHAT}", re.DOTALL)


def canvas(listing: Listing) -> list[Found]:
    """Canvas, "Download submissions": one flat folder or zip; a file's name says whose it is.

    ``{name}[_LATE]_{user id}_{attachment id}_{file}``, the name sortable and in lower case; texts and links that were
    entered online end in ``{user id}_text.html`` and ``_link.html``. Where grading is anonymous,
    ``[LATE_]anon_{id}_{attachment id}_{file}``.
    """
    by_user: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ANONYMOUS.fullmatch(name) or _NAMED.fullmatch(name):
            by_user.setdefault(match["user"], []).append(match)
    return [_of_user(user, matches) for user, matches in by_user.items()]


def _of_user(user: str, matches: Sequence[re.Match[str]]) -> Found:
    """One user's submission; of a file that was handed in several times, the latest attachment."""
    latest: dict[tuple[str, str], re.Match[str]] = {}
    replaced = []
    for match in sorted(matches, key=lambda match: (int(match["attachment"] or 0), copy_number(_shown(match)))):
        key = without_copy_suffix(_shown(match))
        if key in latest:
            replaced.append(_shown(latest[key]))
        latest[key] = match
    name = "" if matches[0]["name"] == "anon" else clean(matches[0]["name"])
    late = any(match["late"] for match in matches)
    return Found(
        f"{name or 'anon'} {user}",
        Part(files={_shown(match): match.string for match in latest.values()}),
        tuple(match.string for match in matches),
        Origin(source="canvas", students=(Student(id=user, name=name),), late=late),
        tuple(handed_in_again(file) for file in replaced),
    )


def _shown(match: re.Match[str]) -> str:
    return PurePosixPath(match["file"] or f"{match['page']}.html").name


_ENTRY = re.compile(
    r"(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<rest>/|[^/]+)", re.DOTALL
)


def moodle(listing: Listing) -> list[Found]:
    """Moodle, "Download all submissions": a folder for each participant, or, in an older variant, flat files.

    ``{full name}_{participant id}_assignsubmission_file/…``, before Moodle 4.1 with another ``_`` at the end. Flat
    files: ``…_assignsubmission_file_{file}``. With blind marking the name is ``Participant`` in the site's language. A
    text typed in online comes as ``…_assignsubmission_onlinetext``. Only the grading worksheet says whether a
    submission is late.
    """
    by_id: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ENTRY.fullmatch(name):
            by_id.setdefault(match["id"], []).append(match)
    return [_of_participant(participant, matches) for participant, matches in by_id.items()]


def _of_participant(participant: str, matches: list[re.Match[str]]) -> Found:
    """One participant's submission: the files, or the text typed in online if there is no file."""
    matches.sort(key=lambda match: match["plugin"])
    first = matches[0]
    if first["rest"] == "/":
        part = Part(below=first.string)
    else:
        flat = [match for match in matches if match["plugin"] == first["plugin"] and match["rest"] != "/"]
        part = Part(files={match["rest"]: match.string for match in flat})
    name = clean(first["name"])
    student = Student(id=participant, name="" if name in PARTICIPANT else name)
    claimed = tuple(match.string for match in matches)
    return Found(f"{name} {participant}", part, claimed, Origin(source="moodle", students=(student,)))
