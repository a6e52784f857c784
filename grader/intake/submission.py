"""One submission as text, and the rules that its files must obey before anyone looks at them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

PACKAGE = "src"
EXPECTED = (
    "src/functional.py",
    "src/modeling/norm.py",
    "src/modeling/pos_emb.py",
    "src/modeling/vocab_emb.py",
)
MAX_FILE_BYTES = 1 << 20
MAX_SOURCE_BYTES = 8 << 20  # all source files together
MAX_FILES = 200  # Python files below src/
MAX_ENTRIES = 2000  # anything at all in a folder or an archive
MAX_ARCHIVE_BYTES = 32 << 20  # a zip inside a student's folder
MAX_PATH = 200
MAX_NAME = 1000  # of anything in a folder or an archive, with all folders above it


class Unreadable(Exception):
    """There is nothing to grade; the text says why, for student and assistant."""


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        id: Names the student in reports and in the output folder.
        files: Path below the submission's root to source text; Python files under ``src/`` only.
        notices: Remarks on files that were moved, skipped or refused.
        reason: Why there is nothing to grade; None if there is.
    """

    id: str
    files: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def sha256(self) -> str:
        """A digest of paths and contents, the same wherever they came from."""
        digest = hashlib.sha256()
        for path, text in sorted(self.files.items()):
            digest.update(f"{path}\0{len(text)}\0{text}\0".encode())
        return digest.hexdigest()


def decode_source(data: bytes) -> str:
    """The text of a source file.

    Raises:
        Unreadable: If it is no text that Python would take.
    """
    if len(data) > MAX_FILE_BYTES:
        raise Unreadable(f"is larger than {MAX_FILE_BYTES >> 20} MiB")
    if b"\0" in data:
        raise Unreadable("contains NUL bytes, so it is no Python source")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def is_source_path(path: str) -> bool:
    """Whether a relative path is one that a submission may bring along: Python below ``src/``, plainly named."""
    parts = PurePosixPath(path).parts
    plain = all(part.isprintable() and part not in ("..", "__pycache__") and not part.startswith(".") for part in parts)
    return path.endswith(".py") and parts[:1] == (PACKAGE,) and plain and len(path) <= MAX_PATH
