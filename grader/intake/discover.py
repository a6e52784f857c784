"""Tells submissions apart: one folder, a folder of folders and zips, or a zip."""

from __future__ import annotations

import itertools
import re
import zipfile
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from .archive import read_archive
from .folder import read_folder
from .layout import expected_path
from .submission import PACKAGE, Submission

MAX_ID = 100


class IntakeError(Exception):
    """A path that holds no submission; one line that says what, and what to do."""


@dataclass(frozen=True)
class Candidate:
    """Where a submission lies; it is read when its turn comes."""

    id: str
    path: Path

    def read(self) -> Submission:
        """Read it. Never fails: what cannot be read says so itself."""
        if self.path.is_dir():
            return read_folder(self.path, self.id)
        return read_archive(self.path, self.id)


def discover(paths: Iterable[Path]) -> list[Candidate]:
    """Every submission below ``paths``, each with an id that no other has, sorted by it.

    Raises:
        IntakeError: If a path does not exist, or holds nothing that could be one.
    """
    found: dict[str, Candidate] = {}
    for path in paths:
        for candidate in _candidates(path):
            own = unused(candidate.id, found)
            found[own] = Candidate(own, candidate.path)
    return [found[own] for own in sorted(found)]


def unused(wanted: str, taken: Container[str]) -> str:
    """The wanted id, with a number behind it if it is taken."""
    ids = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(own for own in ids if own not in taken)


def _candidates(path: Path) -> list[Candidate]:
    if not path.exists():
        raise IntakeError(f"{path}: no such file or folder. Give a submission, a folder of submissions, or a zip.")
    if path.is_file():
        if not zipfile.is_zipfile(path):
            raise IntakeError(f"{path}: not a zip archive. Give a folder or a .zip file.")
        return [Candidate(identifier(path), path)]
    if _is_submission(path):
        return [Candidate(identifier(path.resolve()), path)]
    children = [
        child
        for child in sorted(path.iterdir())
        if not child.name.startswith((".", "__MACOSX")) and (child.is_dir() or child.suffix.lower() == ".zip")
    ]
    if not children:
        raise IntakeError(f"{path}: holds no submission. Expected src/ in it, or one folder or zip for each student.")
    return [Candidate(identifier(child), child) for child in children]


def _is_submission(folder: Path) -> bool:
    """Whether a folder is one submission rather than many: ``src/`` or an expected file lies directly in it."""
    return (folder / PACKAGE).is_dir() or any(expected_path(child.name) for child in folder.iterdir())


def identifier(path: Path) -> str:
    """A name for the output folder: the file's own, without what a file system or a terminal could stumble over."""
    name = path.name.removesuffix(path.suffix) if path.suffix.lower() == ".zip" else path.name
    cleaned = re.sub(r"[^\w.@+-]+", "_", name).strip("._")[:MAX_ID]
    return cleaned or "submission"
