"""What kind of file something is, by its first bytes and its name: an archive that can be opened, or another kind."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from grader.core.messages import Message, say

from .submission import Files, Read, Unreadable

GZIP, BZIP2, XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"  # how a compressed tar begins
TAR_MARK = slice(257, 262)
START_BYTES = 512
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar")
OTHERS = (".7z", ".rar", ".zst", ".gz", ".xz")  # archives of other kinds, unless their content says that they are none
ZIP = say("ask for a zip")
SOURCES = say("ask for the Python files of src/")
SRC_ZIPPED = say("ask for a zip of src/")
FOREIGN: Mapping[str, tuple[Message, Message]] = {  # by suffix: what the file is called, and what to hand in instead
    ".7z": (say("A 7z archive"), ZIP),
    ".rar": (say("A rar archive"), ZIP),
    ".zst": (say("A zst archive"), ZIP),
    ".gz": (say("A gz file"), ZIP),
    ".xz": (say("An xz file"), ZIP),
    ".ipynb": (say("A notebook"), SOURCES),
    ".pdf": (say("A PDF"), SOURCES),
    **dict.fromkeys((".docx", ".doc"), (say("A Word file"), SOURCES)),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".heic"), (say("A picture"), SOURCES)),
    ".pyc": (say("Compiled Python"), say("ask for the source, a .py file")),
    **dict.fromkeys((".txt", ".md"), (say("A text"), SOURCES)),
    ".html": (say("An online text or a link"), SRC_ZIPPED),
    **dict.fromkeys((".url", ".webloc"), (say("A link"), SRC_ZIPPED)),
}
BY_MARK: Mapping[bytes, str] = {
    b"7z\xbc\xaf\x27\x1c": ".7z",
    b"Rar!\x1a\x07": ".rar",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"%PDF": ".pdf",
}
IS = {  # what is said of a file that is named as an archive of a kind that can be opened
    ".7z": "{path} is a 7z archive",
    ".rar": "{path} is a rar archive",
    ".zst": "{path} is a zst archive",
    ".pdf": "{path} is a PDF",
}
MOST_NAMED = 5


def is_archive_name(name: str) -> bool:
    """Whether a file's name ends as that of an archive that can be opened here."""
    return name.lower().endswith(ARCHIVES)


def has_name_of_any_archive(name: str) -> bool:
    """Whether a file's name ends as that of an archive of any kind, whether it can be opened here or not."""
    return name.lower().endswith((*ARCHIVES, *OTHERS))


def is_archive(name: str, read: Read) -> bool:
    """Whether a file can be opened as an archive, by its name, or by its content if it is named as another kind."""
    if is_archive_name(name) or not has_name_of_any_archive(name):
        return is_archive_name(name)
    return _kind(read) in (("zip",) if name.lower().endswith((".gz", ".xz")) else ("zip", "tar"))  # packed, but no tar


def _kind(read: Read) -> str:
    """The kind of a file by its first bytes, as :func:`archive_kind` tells it; empty if it cannot be read."""
    with contextlib.suppress(Unreadable, OSError):
        return archive_kind(read(START_BYTES))
    return ""


def without_archive_suffix(name: str) -> str:
    """A file's name without the suffix of an archive, of Python or of a kind in ``FOREIGN``; others as they are."""
    suffix = next((suffix for suffix in (*ARCHIVES, *FOREIGN, ".py") if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)] or name


def archive_kind(start: bytes) -> str:
    """``zip``, ``tar``, or the suffix of another kind by a file's first bytes, such as ``.rar``; empty if unknown."""
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if start.startswith((GZIP, BZIP2, XZ)) or start[TAR_MARK] == b"ustar":
        return "tar"
    return next((kind for mark, kind in BY_MARK.items() if start.startswith(mark)), "")


def named(files: Files) -> Message | None:
    """What cannot be graded, such as "A 7z archive, src.7z: ask for a zip."; None if no file is of a known kind."""
    known = []
    for name, read in files.items():
        suffix = next((suffix for suffix in FOREIGN if name.lower().endswith(suffix)), "")
        if suffix:
            what, remedy = FOREIGN[suffix]
            if suffix in OTHERS and (kind := _kind(read)) not in ("", "zip", "tar"):
                what, _ = FOREIGN[kind]
            known.append(say("{what}, {called}: {remedy}.", what=what, called=name, remedy=remedy))
    if len(known) > MOST_NAMED:
        known[MOST_NAMED:] = [say("And {n} more.", n=len(known) - MOST_NAMED)]
    return known[0].then(*known[1:]) if known else None
