"""Reads a submission from a folder: regular files only, no link followed anywhere on the way."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from .archive import read_archive
from .layout import arrange
from .submission import MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, Submission, Unreadable


def read_folder(folder: Path, identifier: str) -> Submission:
    """The submission in ``folder``, or in the only zip that lies there; if there is none, one with a reason."""
    try:
        root = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return Submission(identifier, reason=f"The folder cannot be opened: {error.strerror}.")
    try:
        names = _names(folder)
        submission = arrange(identifier, names, lambda name: _read(root, name))
        archives = [name for name in names if name.lower().endswith(".zip")]
        if submission.reason is None or len(archives) != 1:
            return submission
        return read_archive(io.BytesIO(_read(root, archives[0], MAX_ARCHIVE_BYTES)), identifier)
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


def _read(root: int, name: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """Read a regular file, one byte beyond ``limit`` at most, opening each folder on the way without following links.

    Raises:
        Unreadable: If it is a link, a pipe, a device or too large.
        OSError: If the system refuses.
    """
    *folders, last = name.split("/")
    current = os.dup(root)
    try:
        for part in folders:
            following = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
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
