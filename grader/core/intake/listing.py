"""The top level of an export, a folder or a zip alike: names, and the content of a single file."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .archives import listed, name_of, read_entry
from .candidate import read_file
from .origin import Part


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
