"""One submission as text, and the rules that its files must follow to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from .source_rules import MAX_FILE_BYTES as MAX_FILE_BYTES
from .source_rules import Refused

PACKAGE = "src"
MAX_SOURCE_BYTES = 8 << 20  # all source files together
MAX_FILES = 200  # Python files below src/
MAX_ENTRIES = 2000  # Python files anywhere in a folder or an archive
MAX_ARCHIVE_BYTES = 64 << 20  # all archives inside a submission together
MAX_PATH = 200


Expected = Mapping[str, Sequence[str]]  # the files that an assignment asks for, and the names that each defines
ANYTHING: Expected = {}  # no particular files are asked for: every Python file below src/ is taken


class Unreadable(Exception):
    """A file, an archive or a whole submission cannot be read; the text says why, for the student and the assistant."""


@dataclass(frozen=True)
class Concern:
    """Something about the files that a person should look at.

    Attributes:
        code: ``left_out``, ``doubtful``, ``renamed`` or ``own_import``.
        text: A sentence for a person.
    """

    code: str
    text: str


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        id: Names the student in reports and in the output folder.
        files: Source text by path below the submission's root; Python files under ``src/`` only.
        notices: Remarks on files that were moved, skipped or refused.
        reason: Why there is nothing to grade; None if there is.
        concerns: What a person should look at; their texts are among the notices, too.
        stamp: What tells later that it has not changed (``stamp.py``); empty if nothing does.
    """

    id: str
    files: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    reason: str | None = None
    concerns: tuple[Concern, ...] = ()
    stamp: str = field(default="", compare=False)

    @property
    def sha256(self) -> str:
        """A digest of paths and contents; it does not depend on where the files were."""
        digest = hashlib.sha256()
        for path, text in sorted(self.files.items()):
            digest.update(f"{path}\0{len(text)}\0{text}\0".encode())
        return digest.hexdigest()


_WORDS = {
    "too_large": "is larger than {most} MiB",
    "wide": "is UTF-16 or UTF-32, which Python does not read; save it as UTF-8",
    "nul": "contains NUL bytes, so it is no Python source",
    "encoding": "names an encoding that Python does not read ({why}); save it as UTF-8",
    "undecodable": "is not {encoding} (byte {place}); save it as UTF-8",
}


def wording(refusal: Refused) -> str:
    """Why a file is not taken, as the end of a sentence that begins with its name."""
    return _WORDS[refusal.code].format(**refusal.fields)


def is_source_path(path: str) -> bool:
    """Whether a submission may contain a file of this relative path: Python below ``src/``, with a plain name."""
    parts = PurePosixPath(path).parts
    plain = all(part.isprintable() and part not in ("..", "__pycache__") and not part.startswith(".") for part in parts)
    return path.endswith(".py") and parts[:1] == (PACKAGE,) and plain and len(path) <= MAX_PATH
