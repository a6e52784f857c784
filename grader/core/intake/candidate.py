"""A submission before it is read: its id, where its files are, and whose it is; and how it is read.

A folder is read as regular files only, and no link is followed; an archive, or a part of a platform's zip, in memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from grader.core.messages import Message, as_data, from_data, quoted, say

from .archives import archive_files, without_archive_suffix, zip_files
from .origin import WHOLE, Origin, Part, clean
from .reading import submission_in, unread
from .submission import (
    CLUTTER,
    MAX_LISTED,
    SRC_ONLY,
    Expected,
    Files,
    Submission,
    Taken,
    Unreadable,
    concern_of,
    open_regular,
)

MAX_ID_BYTES = 100  # in UTF-8; names of files made from an id are longer, and a file system allows 255
MAX_MESSAGE = 2000  # characters of a reason or a notice
Place = tuple[str, str]  # the folder or archive that holds a submission, and what it is called there
NOWHERE: Place = ("", "")  # where earlier versions noted no place
MARK = 8  # hexadecimal digits that stand for the cut part of a long name
# No id is such a name: what commands write beside the folders of submissions, and their unfinished files (a name with a
# dot at its start is no id either); `submissions`, where earlier versions unpacked hand-ins; what Windows reserves.
TAKEN = re.compile(
    r"html|submissions|decisions|con|prn|aux|nul|com\d|lpt\d|"
    r".*\.(?:sqlite3|json|csv|xml|html|toml|db|zip|part)(?:-\w+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Candidate:
    """A submission that has been found; it is read when it is graded.

    Attributes:
        id: Until :func:`~.discover.discover` makes an id of it, what it is called.
        path: The folder or the archive that holds it.
        part: The part of ``path`` that belongs to it: all, unless ``path`` is an export.
        origin: Whose it is, where that is known.
        reason: Why there is nothing to read; None if there may be something.
        expected: The files that are asked for.
        taken: Files that stand for others, as staff decided.
        name: What its id was made of, by which a later run knows it; each surrogate is written as an escape.
    """

    id: str
    path: Path
    _: KW_ONLY
    part: Part = WHOLE
    origin: Origin | None = None
    notices: tuple[Message, ...] = ()
    reason: Message | None = None
    expected: Expected = field(default_factory=dict)
    taken: Taken = field(default_factory=dict)
    name: str = ""

    @property
    def place(self) -> Place:
        """Where it was found."""
        return escaped(str(self.path)), self.name

    @property
    def called(self) -> str:
        """The name of its folder or file as it was given, without a suffix such as ``.zip`` or ``.pdf``."""
        inside = self.part.below or next(iter(self.part.files), "")
        path = Path(inside) if inside else self.path
        return without_archive_suffix(spelled(path.name))

    def read(self) -> Submission:
        """Read it in this process. If it cannot be read, the submission has a reason; only MemoryError is raised."""
        submission = Submission(self.id, reason=self.reason)
        if self.reason is None:
            try:
                submission = submission_in(self.id, self.files(), self.expected, self.taken)
            except MemoryError:
                raise
            except Exception as error:  # an archive's reader may raise anything for damaged or hostile bytes
                submission = Submission(self.id, reason=unread(error))
        # File names may hold characters that cannot be printed.
        reason, notices = submission.reason and _cleaned(submission.reason), (*self.notices, *submission.notices)
        return replace(submission, reason=reason, notices=tuple(map(_cleaned, notices)))

    def files(self) -> Files:
        """The files that belong to it, each to be read when it is needed.

        Raises:
            Unreadable: If there are too many files, or its folder or archive is a link.
            Exception: Any, if an archive is damaged.
        """
        folder = self.path / self.part.below
        if folder.is_symlink():
            linked = say("{called} is a link, which may point to someone else's submission", called=folder.name)
            raise Unreadable(linked.then(say("submit the folder or zip itself")))
        if self.path.is_dir():
            names = self.part.files or {name: name for name in _names(folder)}
            return {shown: partial(read_file, folder, name) for shown, name in names.items()}
        if self.part == WHOLE:
            return archive_files(partial(open_regular, self.path))
        changed = self.path.stat()
        return self.part.of(_export(self.path, changed.st_mtime_ns, changed.st_size))


@lru_cache(1)
def _export(path: Path, *_: int) -> Files:
    """The files of a platform's zip, listed once for all its submissions, as long as its time and size are the same."""
    return zip_files(partial(open_regular, path))


def _cleaned(message: Message) -> Message:
    """The message with only printable characters; one that is too long is cut, and loses its parts."""
    if len(message) > MAX_MESSAGE:
        return quoted(clean(message, MAX_MESSAGE)).filled(concern=concern_of(message))
    return from_data(as_data(message), lambda text: clean(text, MAX_MESSAGE))


def on_disk(name: str) -> str:
    """An id for comparison: the same text for two ids that a file system may not tell apart, such as A and a."""
    return unicodedata.normalize("NFKD", name).casefold()


def escaped(text: str) -> str:
    """A file's name that can be written as UTF-8: a byte that is none is an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def spelled(name: str) -> str:
    """A file's name as text; bytes that are not UTF-8 are read as GB18030, since most come from a Chinese Windows."""
    try:
        data = name.encode("utf-8", "surrogateescape")
        return data.decode()
    except UnicodeEncodeError:
        return name
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def safe_id(name: str) -> str:
    """An id from any name: always the same, never too long, and never the name of a file that the grader writes.

    It begins with a letter or a digit: neither a command nor a spreadsheet takes it for something else.
    """
    whole = unicodedata.normalize("NFC", spelled(name))
    safe = re.sub(r"^[\W_]+|[._]+$", "", re.sub(r"[^\w.@+-]+", "_", whole)) or "submission"
    if TAKEN.fullmatch(safe):
        safe = f"{safe.replace('.', '_')}_"
    if len(safe.encode("utf-8", "replace")) > MAX_ID_BYTES:
        mark = hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:MARK]
        safe = f"{safe.encode()[: MAX_ID_BYTES - MARK - 1].decode(errors='ignore')}-{mark}"
    return safe


_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # macOS lacks O_PATH


def _names(folder: Path) -> Iterator[str]:
    """Every file's path relative to ``folder``; nothing in hidden folders, caches or installed libraries.

    Raises:
        Unreadable: If there are too many files and folders.
    """
    count = 0
    for current, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > MAX_LISTED:
            raise Unreadable(say("The folder contains more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY))
        folders[:] = (name for name in folders if not name.startswith(".") and name not in CLUTTER)
        yield from (os.path.relpath(os.path.join(current, name), folder) for name in files)


def read_file(folder: Path, name: str, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of a regular file below a folder, opening each folder without following links.

    Raises:
        Unreadable: If it is a link, a pipe or a device.
        OSError: If the system refuses.
    """
    *folders, last = name.split("/")
    current = os.open(folder, _FOLDER)
    try:
        for part in folders:
            following = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
        with open_regular(last, folder=current) as file:
            return file.read(limit + 1)
    finally:
        os.close(current)
