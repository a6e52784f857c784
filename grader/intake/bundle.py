"""The files of one submission, by the names that the student gave them; each is read when it is asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from ..messages import say
from .submission import SRC_ONLY, THE_FILE_ITSELF, Unreadable

Read = Callable[[int], bytes]  # reads at most limit + 1 bytes, to show a larger file; raises Unreadable or OSError
Files = Mapping[str, Read]

MAX_LISTED = 100_000  # names of files and folders in one folder or archive, clutter included
MAX_FOLDERS = 10_000  # in one submission, without clutter
MAX_NAME = 1000  # characters of a name, with all folders above it
CLUTTER = {"__MACOSX", "__pycache__", "site-packages", "node_modules", "venv"}
ENVIRONMENT = "pyvenv.cfg"  # a folder with this file is a virtual environment, whatever its name


def without_clutter(names: Iterable[str]) -> list[str]:
    """The names that may be a student's work, sorted: no hidden files, caches, libraries or virtual environments."""
    kept = [name for name in names if len(name) <= MAX_NAME and not is_clutter(name)]
    environments = tuple(name.removesuffix(ENVIRONMENT) for name in kept if name.endswith(f"/{ENVIRONMENT}"))
    return sorted(name for name in kept if not name.startswith(environments)) if environments else sorted(kept)


def is_clutter(name: str) -> bool:
    """Whether a file's name alone shows that it is clutter."""
    return any(part.startswith(".") or part in CLUTTER for part in name.split("/"))


class Folders:
    """Counts the folders of an archive: those that it lists, and those that only the names of its files imply."""

    def __init__(self) -> None:
        self._found: set[str] = set()

    def above(self, name: str) -> None:
        """Count the folders above a name; a folder's own name ends in a slash, and clutter does not count.

        Raises:
            Unreadable: If there are too many by now.
        """
        if len(name) > MAX_NAME or is_clutter(name):
            return
        while (name := name.rpartition("/")[0]) and name not in self._found:
            self._found.add(name)
        if len(self._found) > MAX_FOLDERS:
            raise Unreadable(say("{path} holds more than {n} folders", n=MAX_FOLDERS).then(SRC_ONLY))


def may_be_source(name: str) -> bool:
    """Whether a file may hold Python, judged by its name, which a browser may have changed, as to ``norm.py.txt``."""
    return ".py" in name.lower() or name.lower().endswith(".txt")


def lacks_suffix(name: str) -> bool:
    """Whether a file's name has no suffix, as that of a ``norm.py`` whose suffix was lost."""
    return "." not in name.rpartition("/")[2]


def open_regular(path: Path | str, folder: int | None = None, follow: bool = False) -> IO[bytes]:
    """Open a regular file for reading. Never waits for a pipe, and follows a link only if asked to.

    Raises:
        Unreadable: If it is a link, a pipe, a device or a folder.
        OSError: If the system refuses.
    """
    if not follow and not stat.S_ISREG(os.lstat(path, dir_fd=folder).st_mode):
        raise Unreadable(say("{path} is not a regular file (a link, perhaps)").then(THE_FILE_ITSELF))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags, dir_fd=folder), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Unreadable(say("{path} is not a regular file").then(THE_FILE_ITSELF))
    return file
