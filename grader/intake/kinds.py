"""What kind of file something is, by its first bytes and its name: an archive that can be opened, or another kind."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from .bundle import Files, Read
from .submission import Unreadable
from .tarballs import PACKED

TAR_MARK = slice(257, 262)
START_BYTES = 512
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar")
OTHERS = (".7z", ".rar", ".zst", ".gz", ".xz")  # archives of other kinds, unless their content says that they are none
FOREIGN: Mapping[str, tuple[str, str]] = {  # by suffix: what the file is called, and what to hand in instead
    ".7z": ("a 7z archive", "ask for a zip"),
    ".rar": ("a rar archive", "ask for a zip"),
    ".zst": ("a zst archive", "ask for a zip"),
    ".gz": ("a gz file", "ask for a zip"),
    ".xz": ("an xz file", "ask for a zip"),
    ".ipynb": ("a notebook", "ask for the Python files of src/"),
    ".pdf": ("a PDF", "ask for the Python files of src/"),
    ".docx": ("a Word file", "ask for the Python files of src/"),
    ".doc": ("a Word file", "ask for the Python files of src/"),
    ".png": ("a picture", "ask for the Python files of src/"),
    ".jpg": ("a picture", "ask for the Python files of src/"),
    ".jpeg": ("a picture", "ask for the Python files of src/"),
    ".heic": ("a picture", "ask for the Python files of src/"),
    ".pyc": ("compiled Python", "ask for the source, a .py file"),
    ".txt": ("a text", "ask for the Python files of src/"),
    ".md": ("a text", "ask for the Python files of src/"),
    ".html": ("a text typed in online, or a link", "ask for a zip of src/"),
    ".url": ("a link", "ask for a zip of src/"),
    ".webloc": ("a link", "ask for a zip of src/"),
}
BY_MARK: Mapping[bytes, tuple[str, str]] = {
    b"7z\xbc\xaf\x27\x1c": FOREIGN[".7z"],
    b"Rar!\x1a\x07": FOREIGN[".rar"],
    b"\x28\xb5\x2f\xfd": FOREIGN[".zst"],
    b"%PDF": FOREIGN[".pdf"],
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
    """``zip``, ``tar``, or another kind by a file's first bytes, such as ``a rar archive``; empty if unknown."""
    if start.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if start.startswith(tuple(PACKED)) or start[TAR_MARK] == b"ustar":
        return "tar"
    return next((what for mark, (what, _) in BY_MARK.items() if start.startswith(mark)), "")


def named(files: Files) -> str:
    """What cannot be graded, such as "A 7z archive, src.7z: ask for a zip."; empty if no file is of a known kind."""
    known = []
    for name, read in files.items():
        suffix = next((suffix for suffix in FOREIGN if name.lower().endswith(suffix)), "")
        if suffix:
            what, remedy = FOREIGN[suffix]
            if suffix in OTHERS and (kind := _kind(read)) not in ("", "zip", "tar"):
                what = kind
            known.append(f"{what}, {name}: {remedy}")
    more = f" And {len(known) - MOST_NAMED} more." if len(known) > MOST_NAMED else ""
    text = "; ".join(known[:MOST_NAMED])
    return f"{text[0].upper()}{text[1:]}.{more}" if text else ""
