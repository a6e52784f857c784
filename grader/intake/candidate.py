"""A submission before it is read: what it is called, where it lies, and whose it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from .archive import read_archive
from .folder import read_folder
from .origin import WHOLE, Origin, Part
from .submission import Submission

MAX_ID = 100


@dataclass(frozen=True)
class Candidate:
    """Where a submission lies; it is read when its turn comes.

    Attributes:
        part: Of what lies there; the whole, unless it is an export.
        origin: Whose it is, where that is known.
        reason: Why there is nothing to read; None if there may be.
    """

    id: str
    path: Path
    _: KW_ONLY
    part: Part = WHOLE
    origin: Origin | None = None
    notices: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def called(self) -> str:
        """What the folder or the zip is called, before anything was made of its name."""
        inside = self.part.below or next(iter(self.part.files), "")
        path = Path(inside) if inside else self.path.resolve()
        return path.stem if path.suffix.lower() == ".zip" else path.name

    def read(self) -> Submission:
        """Read it. Never fails: what cannot be read says so itself."""
        if self.reason is not None:
            submission = Submission(self.id, reason=self.reason)
        elif not self.path.is_dir():
            submission = read_archive(self.path, self.id, self.part)
        elif self.part.below:
            submission = read_folder(self.path / self.part.below, self.id)
        else:
            submission = read_folder(self.path, self.id, self.part)
        return replace(submission, notices=self.notices + submission.notices)


def unused(wanted: str, taken: Container[str]) -> str:
    """The wanted id, with a number behind it if it is taken."""
    ids = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(own for own in ids if own not in taken)


def identifier(path: Path) -> str:
    """A name for the output folder: the file's own, without what a file system or a terminal could stumble over."""
    return safe_id(path.name.removesuffix(path.suffix) if path.suffix.lower() == ".zip" else path.name)


def safe_id(name: str) -> str:
    """The same for any name."""
    return re.sub(r"[^\w.@+-]+", "_", name).strip("._")[:MAX_ID] or "submission"
