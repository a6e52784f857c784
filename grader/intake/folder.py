"""Reads a submission from a folder: regular files only; no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..messages import say
from .bundle import CLUTTER, ENVIRONMENT, MAX_FOLDERS, MAX_LISTED, Files, open_regular
from .origin import WHOLE, Part
from .reading import read_files
from .submission import ANYTHING, SRC_ONLY, Expected, Submission, Unreadable

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_folder(folder: Path, identifier: str, part: Part = WHOLE, expected: Expected = ANYTHING) -> Submission:
    """The submission in ``folder``, or in a part of it, archives included; if it cannot be read, it has a reason."""
    try:
        root = os.open(folder, _FOLDER)
    except OSError as error:
        why = say("The folder cannot be opened: {problem}.", problem=str(error.strerror))
        return Submission(identifier, reason=why)
    try:
        return read_files(identifier, lambda: _files(root, folder, part), expected)
    finally:
        os.close(root)


def _files(root: int, folder: Path, part: Part) -> Files:
    names = part.files or {name: name for name in _names(folder)}
    return {shown: partial(_read, root, name) for shown, name in names.items()}


def _names(folder: Path) -> list[str]:
    """Every file's path relative to ``folder``, without those that :func:`walked` leaves out."""
    found = (os.path.join(current, name) for current, names in walked(folder) for name in names)
    return [os.path.relpath(path, folder).replace(os.sep, "/") for path in found]


def walked(folder: Path | str) -> Iterator[tuple[str, list[str]]]:
    """``folder`` and each folder below it, with the names of its files; no hidden folder, cache or virtual environment.

    Raises:
        Unreadable: If there are too many files and folders.
    """
    count = 0
    for number, (current, folders, files) in enumerate(os.walk(folder, followlinks=False)):
        count += len(folders) + len(files)
        if count > MAX_LISTED:
            raise Unreadable(say("The folder holds more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY))
        if number > MAX_FOLDERS:
            raise Unreadable(say("The folder holds more than {n} folders", n=MAX_FOLDERS).then(SRC_ONLY))
        if ENVIRONMENT in files and current != str(folder):
            folders[:] = []
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in CLUTTER)
        yield current, files


def read_file(folder: Path, name: str, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of a file in an export or another folder; no link is followed.

    Raises:
        Unreadable: If it is a link, a pipe or a device.
        OSError: If the system refuses.
    """
    root = os.open(folder, _FOLDER)
    try:
        return _read(root, name, limit)
    finally:
        os.close(root)


def _read(root: int, name: str, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of a regular file, opening each folder on the way without following links.

    Raises:
        Unreadable: If it is a link, a pipe or a device.
        OSError: If the system refuses.
    """
    *folders, last = name.split("/")
    current = os.dup(root)
    try:
        for part in folders:
            following = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
        with open_regular(last, folder=current) as file:
            return file.read(limit + 1)
    finally:
        os.close(current)
