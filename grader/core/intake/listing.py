"""The top level of an export, a folder or a zip alike: names, and the content of a single file."""

from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.core.messages import Message, say

from .archives import PACKED, listed, name_of, read_entry
from .candidate import read_file
from .origin import Part
from .submission import Files, Read, Unreadable


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


TAR_MARK = slice(257, 262)
START_BYTES = 512
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar")
OTHERS = (".7z", ".rar", ".zst", ".gz", ".xz")  # archives of other kinds, unless their content says that they are none
ZIP = say("ask for a zip")
SOURCES = say("ask for the Python files of src/")
SRC_ZIPPED = say("ask for a zip of src/")
FOREIGN: Mapping[str, tuple[Message, Message]] = {  # by suffix: what the file is called, and what to hand in instead
    ".7z": (say("A 7z archive"), ZIP),
    ".rar": (say("A rar archive"), ZIP),
    ".zst": (say("A zst archive"), ZIP),
    ".gz": (say("A gz file"), ZIP),
    ".xz": (say("An xz file"), ZIP),
    ".ipynb": (say("A notebook"), SOURCES),
    ".pdf": (say("A PDF"), SOURCES),
    **dict.fromkeys((".docx", ".doc"), (say("A Word file"), SOURCES)),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".heic"), (say("A picture"), SOURCES)),
    ".pyc": (say("Compiled Python"), say("ask for the source, a .py file")),
    **dict.fromkeys((".txt", ".md"), (say("A text"), SOURCES)),
    ".html": (say("A text typed in online, or a link"), SRC_ZIPPED),
    **dict.fromkeys((".url", ".webloc"), (say("A link"), SRC_ZIPPED)),
}
BY_MARK: Mapping[bytes, str] = {
    b"7z\xbc\xaf\x27\x1c": ".7z",
    b"Rar!\x1a\x07": ".rar",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"%PDF": ".pdf",
}
IS = {  # what is said of a file that is named as an archive of a kind that can be opened
    ".7z": "{path} is a 7z archive",
    ".rar": "{path} is a rar archive",
    ".zst": "{path} is a zst archive",
    ".pdf": "{path} is a PDF",
}
MOST_NAMED = 5


def is_archive_name(name: str) -> bool:
    """Whether a file's name ends as that of an archive that can be opened here."""
    return name.lower().endswith(ARCHIVES)


def has_name_of_any_archive(name: str) -> bool:
    """Whether a file's name ends as that of an archive of any kind, whether it can be opened here or not."""
    return name.lower().endswith((*ARCHIVES, *OTHERS))


def is_archive(name: str, read: Read) -> bool:
    """Whether a file can be opened as an archive, by its name, or by its content if it is named as another kind."""
    if is_archive_name(name) or not has_name_of_any_archive(name):
        return is_archive_name(name)
    return _kind(read) in (("zip",) if name.lower().endswith((".gz", ".xz")) else ("zip", "tar"))  # packed, but no tar


def _kind(read: Read) -> str:
    """The kind of a file by its first bytes, as :func:`archive_kind` tells it; empty if it cannot be read."""
    with contextlib.suppress(Unreadable, OSError):
        return archive_kind(read(START_BYTES))
    return ""


def without_archive_suffix(name: str) -> str:
    """A file's name without the suffix of an archive, of Python or of a kind in ``FOREIGN``; others as they are."""
    suffix = next((suffix for suffix in (*ARCHIVES, *FOREIGN, ".py") if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)] or name


def archive_kind(start: bytes) -> str:
    """``zip``, ``tar``, or the suffix of another kind by a file's first bytes, such as ``.rar``; empty if unknown."""
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if start.startswith(tuple(PACKED)) or start[TAR_MARK] == b"ustar":
        return "tar"
    return next((kind for mark, kind in BY_MARK.items() if start.startswith(mark)), "")


def named(files: Files) -> Message | None:
    """What cannot be graded, such as "A 7z archive, src.7z: ask for a zip."; None if no file is of a known kind."""
    known = []
    for name, read in files.items():
        suffix = next((suffix for suffix in FOREIGN if name.lower().endswith(suffix)), "")
        if suffix:
            what, remedy = FOREIGN[suffix]
            if suffix in OTHERS and (kind := _kind(read)) not in ("", "zip", "tar"):
                what, _ = FOREIGN[kind]
            known.append(say("{what}, {called}: {remedy}.", what=what, called=name, remedy=remedy))
    if len(known) > MOST_NAMED:
        known[MOST_NAMED:] = [say("And {n} more.", n=len(known) - MOST_NAMED)]
    return known[0].then(*known[1:]) if known else None
