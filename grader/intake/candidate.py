"""A submission before it is read: what it is called, where it lies, and whose it is."""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Container
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from .archive import read_archive
from .folder import read_folder
from .kinds import without_archive_suffix
from .origin import WHOLE, Origin, Part, clean
from .submission import Expected, Submission

MAX_ID_BYTES = 100  # in UTF-8: names of reports and pages are longer, and a file system takes 255
MAX_MESSAGE = 2000  # characters of a reason, a notice or a concern
MARK = 8  # hexadecimal digits that stand for what a long name had beyond that
# What grading and exporting write beside the folders of submissions, and what Windows keeps for itself.
TAKEN = re.compile(
    r"html|con|prn|aux|nul|com\d|lpt\d|.*\.(?:sqlite3|json|csv|xml|html|toml|db)(?:-\w+)?", re.IGNORECASE
)


@dataclass(frozen=True)
class Candidate:
    """Where a submission lies; it is read when its turn comes.

    Attributes:
        part: Of what lies there; the whole, unless it is an export.
        origin: Whose it is, where that is known.
        reason: Why there is nothing to read; None if there may be.
        among_others: Whether it lies in a folder of submissions, where a link may lead to somebody else's.
        expected: The files that are asked for.
    """

    id: str
    path: Path
    _: KW_ONLY
    part: Part = WHOLE
    origin: Origin | None = None
    notices: tuple[str, ...] = ()
    reason: str | None = None
    among_others: bool = False
    expected: Expected = field(default_factory=dict)

    @property
    def called(self) -> str:
        """What the folder or the zip is called, before anything was made of its name."""
        inside = self.part.below or next(iter(self.part.files), "")
        path = Path(inside) if inside else self.path.resolve()
        return without_archive_suffix(spelled(path.name))

    def read(self) -> Submission:
        """Read it, here and now. What cannot be read says so itself; only a lack of memory is raised."""
        if self.reason is not None:
            submission = Submission(self.id, reason=self.reason)
        elif not self.path.is_dir():
            submission = read_archive(self.path, self.id, self.part, not self.among_others, self.expected)
        elif self.part.below:
            submission = read_folder(self.path / self.part.below, self.id, expected=self.expected)
        else:
            submission = read_folder(self.path, self.id, self.part, self.expected)
        return _printable(replace(submission, notices=self.notices + submission.notices))


def _printable(submission: Submission) -> Submission:
    """What is said of a submission, without what its names would do to a terminal or a page."""
    return replace(
        submission,
        reason=submission.reason and clean(submission.reason, MAX_MESSAGE),
        notices=tuple(clean(notice, MAX_MESSAGE) for notice in submission.notices),
        concerns=tuple(replace(concern, text=clean(concern.text, MAX_MESSAGE)) for concern in submission.concerns),
    )


def unused(wanted: str, taken: Container[str]) -> str:
    """The wanted id, with a number behind it if another is the same to some file system, which may fold case."""
    ids = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(own for own in ids if folded(own) not in taken)


def folded(own: str) -> str:
    """The same text for ids that a file system may take for one."""
    return unicodedata.normalize("NFKD", own).casefold()


def identifier(path: Path) -> str:
    """A name for the output folder: the file's own, without what a file system or a terminal could stumble over."""
    return safe_id(without_archive_suffix(path.name))


def spelled(name: str) -> str:
    """A file's name as text; bytes that are no UTF-8 are most likely a Chinese Windows' own."""
    try:
        data = name.encode("utf-8", "surrogateescape")
        return data.decode()
    except UnicodeEncodeError:
        return name
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def safe_id(name: str) -> str:
    """The same for any name. Never one of our own files, never too long, and the same whenever it is asked for."""
    whole = unicodedata.normalize("NFC", spelled(name))
    own = re.sub(r"[^\w.@+-]+", "_", whole).strip("._") or "submission"
    if TAKEN.fullmatch(own):
        own = f"{own.replace('.', '_')}_"
    if len(own.encode("utf-8", "replace")) > MAX_ID_BYTES:
        mark = hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:MARK]
        own = f"{own.encode()[: MAX_ID_BYTES - MARK - 1].decode(errors='ignore')}-{mark}"
    return own
