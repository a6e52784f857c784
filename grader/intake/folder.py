"""Reads a submission from a folder: regular files only, no link followed anywhere on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .archive import arrange_or_open
from .origin import WHOLE, Part
from .submission import MAX_ENTRIES, Submission, Unreadable

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_folder(folder: Path, identifier: str, part: Part = WHOLE) -> Submission:
    """The submission in ``folder`` or in some of its files, or in the only zip there; if there is none, a reason."""
    try:
        root = os.open(folder, _FOLDER)
    except OSError as error:
        return Submission(identifier, reason=f"The folder cannot be opened: {error.strerror}.")
    try:
        names = part.files or {name: name for name in _names(folder)}
        return arrange_or_open(identifier, names, lambda name, limit: _read(root, name, limit))
    except Unreadable as problem:
        return Submission(identifier, reason=f"{problem}")
    except OSError as error:
        return Submission(identifier, reason=f"The folder cannot be read: {error.strerror}.")
    finally:
        os.close(root)


def _names(folder: Path) -> list[str]:
    """Every name that is no directory, relative to ``folder``."""
    names: list[str] = []
    count = 0
    for current, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX", "__pycache__")))
        count += len(folders) + len(files)
        if count > MAX_ENTRIES:
            raise Unreadable(f"More than {MAX_ENTRIES} files and folders; hand in src/ only.")
        names += [os.path.relpath(os.path.join(current, name), folder).replace(os.sep, "/") for name in files]
    return names


def read_file(folder: Path, name: str, limit: int) -> bytes:
    """Read a file of a folder that is no submission, with the same care.

    Raises:
        Unreadable: If it is a link, a pipe, a device.
        OSError: If the system refuses.
    """
    root = os.open(folder, _FOLDER)
    try:
        return _read(root, name, limit)
    finally:
        os.close(root)


def _read(root: int, name: str, limit: int) -> bytes:
    """Read a regular file, one byte beyond ``limit`` at most, opening each folder on the way without following links.

    Raises:
        Unreadable: If it is a link, a pipe, a device or too large.
        OSError: If the system refuses.
    """
    *folders, last = name.split("/")
    current = os.dup(root)
    try:
        for part in folders:
            following = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
        if not stat.S_ISREG(os.lstat(last, dir_fd=current).st_mode):
            raise Unreadable("is not a regular file (a link, perhaps); hand in the file itself")
        descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=current)
    finally:
        os.close(current)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("is not a regular file; hand in the file itself")
        return file.read(limit + 1)
