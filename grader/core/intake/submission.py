"""One submission as text, the files that it is made of, and the rules that these must follow to be read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from grader import SUBMITTED
from grader.core.messages import Field, Message, say
from grader.shared.source_rules import MAX_FILE_BYTES as MAX_FILE_BYTES
from grader.shared.source_rules import Refused

MAX_SOURCE_BYTES = 8 << 20  # all source files together
MAX_FILES = 200  # Python files below src/
MAX_ENTRIES = 2000  # Python files anywhere in a folder or an archive
MAX_ARCHIVE_BYTES = 64 << 20  # all archives inside a submission together
MAX_PATH = 200
LEFT_OUT = say("it was left out.")
SRC_ONLY = say("submit src/ only")
THE_FILE_ITSELF = say("submit the file itself")
AS_UTF_8 = say("save it as UTF-8")


Expected = Mapping[str, Sequence[str]]  # the files that an assignment asks for, and the names that each defines
Taken = Mapping[str, str]  # from an expected path to the student's name for the file that is taken for it
ANYTHING: Expected = {}  # no particular files are asked for: every Python file below src/ is taken


class Unreadable(Exception):
    """A file, an archive or a whole submission cannot be read.

    Attributes:
        message: Why, for the student and the assistant, without a full stop. Most messages have a place ``{path}`` for
            the name of what cannot be read.
    """

    def __init__(self, message: Message) -> None:
        """Keep the message."""
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message.filled(path="").strip()

    def of(self, name: Field) -> Message:
        """The message with the name of what cannot be read in its place, or else before it."""
        named = self.message.filled(path=name)
        return named if named != self.message else say("{path}: {problem}", path=name, problem=named)


def left_out(name: str, problem: Unreadable) -> Message:
    """The concern about a file or an archive that cannot be read."""
    return problem.of(name).then(LEFT_OUT).filled(concern="left_out")


def concern_of(notice: Message) -> str:
    """The code of the reason for which a person should look at the files; empty if the notice is no concern."""
    return str(notice.parts[0].fields.get("concern", ""))


def places_in(concerns: Iterable[Message]) -> set[Field]:
    """The paths that concerns are about."""
    return {part.fields["path"] for one in concerns for part in one.all_parts() if "path" in part.fields}


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        id: Names the student in reports and in the output folder.
        files: Source text by path below the submission's root; Python files under ``src/`` only.
        notices: Remarks on files that were moved, skipped or refused. One that a person should look at is a concern:
            its field ``concern`` is the code of the reason for manual review, such as ``left_out``.
        reason: Why there is nothing to grade; None if there is.
    """

    id: str
    files: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Message, ...] = ()
    reason: Message | None = None

    @property
    def concerns(self) -> dict[Message, str]:
        """Those notices that are concerns, with their codes."""
        return {notice: code for notice in self.notices if (code := concern_of(notice))}

    @property
    def sha256(self) -> str:
        """A digest of paths and contents, independent of where the files were."""
        digest = hashlib.sha256()
        for path, text in sorted(self.files.items()):
            digest.update(f"{path}\0{len(text)}\0{text}\0".encode())
        return digest.hexdigest()


_WORDS = {
    "too_large": say("{path} is larger than {n} MiB", n=MAX_FILE_BYTES >> 20),
    "wide": say("{path} is UTF-16 or UTF-32, which Python cannot read").then(AS_UTF_8),
    "nul": say("{path} contains NUL bytes, so it is not Python source"),
    "encoding": say("{path} declares an encoding that Python cannot read ({why})").then(AS_UTF_8),
    "undecodable": say("{path} is not {encoding} (byte {place})").then(AS_UTF_8),
}


def refused(refusal: Refused) -> Unreadable:
    """Why a file is not taken."""
    return Unreadable(_WORDS[refusal.code].filled(**{name: str(value) for name, value in refusal.fields.items()}))


def is_source_path(path: str) -> bool:
    """Whether a submission may contain a file of this relative path: Python below ``src/``, with a plain name."""
    parts = PurePosixPath(path).parts
    plain = all(part.isprintable() and part not in ("..", "__pycache__") and not part.startswith(".") for part in parts)
    return path.endswith(".py") and parts[:1] == (SUBMITTED,) and plain and len(path) <= MAX_PATH


Read = Callable[[int], bytes]  # reads at most limit + 1 bytes, to show a larger file; raises Unreadable or OSError
Files = Mapping[str, Read]

MAX_LISTED = 100_000  # names of files and folders in one folder or archive, clutter included
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


def may_be_source(name: str) -> bool:
    """Whether a file may hold Python, judged by its name, which a browser may have changed, as to ``norm.py.txt``."""
    return ".py" in name.lower() or name.lower().endswith(".txt")


def lacks_suffix(name: str) -> bool:
    """Whether a file's name has no suffix, as that of a ``norm.py`` whose suffix was lost."""
    return "." not in name.rpartition("/")[2]


def open_regular(path: Path | str, folder: int | None = None) -> IO[bytes]:
    """Open a regular file for reading, below the folder of a descriptor if one is given. Never waits for a pipe.

    Someone who replaces the file between check and opening gains nothing: a link is refused, and a pipe only gives what
    is already in it.

    Raises:
        Unreadable: If it is a link, a pipe, a device or a folder.
        OSError: If the system refuses.
    """
    if not stat.S_ISREG(os.lstat(path, dir_fd=folder).st_mode):
        raise Unreadable(say("{path} is not a regular file (possibly a link)").then(THE_FILE_ITSELF))
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder), "rb")
