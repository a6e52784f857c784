"""Tells archives from other kinds of files, and lists and reads them in memory.

Nothing is extracted to disk, and no size that an archive claims is believed. A zip's entries are read when they are
asked for, in steps. A tar archive, compressed or not, is read in one pass, and only files that may be needed are kept:
it may unpack to anything, which the limits of the process that reads it (``reading_process.py``) end.
"""

from __future__ import annotations

import bz2
import contextlib
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import IO, Literal

from grader.core.messages import Message, say

from .submission import (
    MAX_ARCHIVE_BYTES,
    MAX_FILE_BYTES,
    MAX_LISTED,
    SRC_ONLY,
    THE_FILE_ITSELF,
    Files,
    Read,
    Unreadable,
    is_clutter,
    may_be_source,
)

START_BYTES = 512
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz", ".tar")
OTHERS = (".7z", ".rar", ".zst", ".gz", ".xz")  # archives of other kinds, unless their content says that they are none
# What students send in place of Python files; beside submissions, files of the second kinds may be the staff's.
INSTEAD = (".ipynb", ".pyc", ".heic", ".webloc")
TEXTS = (".html", ".txt", ".md", ".pdf", ".docx", ".doc", ".png", ".jpg", ".jpeg", ".url")
ZIP = say("ask for a zip")
SOURCES = say("ask for the Python files of src/")
Mode = Literal["r:", "r:gz", "r:bz2", "r:xz"]  # by which tarfile reads
PACKED: Mapping[bytes, Mode] = {b"\x1f\x8b": "r:gz", b"BZh": "r:bz2", b"\xfd7zXZ": "r:xz"}
KINDS: Mapping[bytes, str] = {  # by how a file begins; a compressed file is taken for a tar
    **dict.fromkeys((b"PK\3\4", b"PK\5\6"), "zip"),
    **dict.fromkeys(PACKED, "tar"),
    b"7z\xbc\xaf\x27\x1c": ".7z",
    b"Rar!\x1a\x07": ".rar",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"%PDF": ".pdf",
}
TAR_MARK = slice(257, 262)  # where a tar that is not compressed has the word ustar
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
    kinds = ("zip",) if name.lower().endswith((".gz", ".xz")) else ("zip", "tar")  # packed, but no tar
    try:
        return archive_kind(read(START_BYTES)) in kinds
    except (Unreadable, OSError):
        return False


def without_archive_suffix(name: str) -> str:
    """A file's name without the suffix of an archive, of Python or of what is sent in its place; others as they are."""
    suffixes = (*ARCHIVES, *OTHERS, *INSTEAD, *TEXTS, ".py")
    suffix = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)] or name


def archive_kind(start: bytes) -> str:
    """``zip``, ``tar``, or the suffix of another kind by a file's first bytes, such as ``.rar``; empty if unknown."""
    tar = "tar" if start[TAR_MARK] == b"ustar" else ""
    return next((kind for mark, kind in KINDS.items() if start.startswith(mark)), tar)


def ungradable(files: Iterable[str]) -> Message | None:
    """What cannot be graded, such as "src.7z cannot be graded: ask for a zip."; None if nothing is known to be such."""
    sent = [name for name in files if name.lower().endswith((*OTHERS, *INSTEAD, *TEXTS))]
    remedies = ((name, ZIP if name.lower().endswith(OTHERS) else SOURCES) for name in sent[:MOST_NAMED])
    known = [say("{called} cannot be graded: {remedy}.", called=name, remedy=remedy) for name, remedy in remedies]
    if len(sent) > MOST_NAMED:
        known.append(say("And {n} more.", n=len(sent) - MOST_NAMED))
    return known[0].then(*known[1:]) if known else None


Opened = Callable[[], IO[bytes]]  # opens an archive anew, for each file that is read
UTF_8 = 0x800  # the flag of an entry whose name is UTF-8
LOCAL_HEADER = struct.Struct("<26xHH")  # …, lengths of name and extra field, which come next
STEP_BYTES = 4096  # as many packed bytes are unpacked at a time: LZMA makes up to 30 MiB of them
BLOCK_BYTES = 1 << 20  # bzip2 gives nothing before it has a whole block of 900 kB
TOO_LARGE = say("it does not fit into memory")
TOO_MANY = say("{path} contains more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY)


def archive_files(opened: Opened) -> Files:
    """The files of an archive, whatever its name.

    Raises:
        Unreadable: If it is not an archive that can be opened.
        Exception: Any, if the archive is damaged.
    """
    with opened() as file:
        start = file.read(START_BYTES)
        kind = archive_kind(start)
        if kind == "tar":
            file.seek(0)
            return _tar_files(file, next((mode for mark, mode in PACKED.items() if start.startswith(mark)), "r:"))
    if kind not in ("", "zip"):
        raise Unreadable(say("{path} is a {kind} file", kind=kind[1:]).then(ZIP))
    return zip_files(opened)


def zip_files(opened: Opened) -> Files:
    """All files of a zip; see :func:`zip_entries`."""
    entries = zip_entries(opened)
    return {name: partial(read_entry, opened, entry) for name, entry in entries.items() if not name.endswith("/")}


def zip_entries(opened: Opened) -> dict[str, zipfile.ZipInfo]:
    """Files and folders of a zip by name; a folder's name ends in a slash.

    Raises:
        Unreadable: If it lists too many files, or one of them twice.
        Exception: Any, from zipfile, if the zip is damaged.
    """
    with opened() as file, zipfile.ZipFile(file) as archive:
        listed = archive.infolist()
    if len(listed) > MAX_LISTED:
        raise Unreadable(TOO_MANY)
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        name = _name(entry)
        if name in entries and not name.endswith("/"):
            raise Unreadable(say("{path} lists a file twice").then(say("repack it")))
        entries[name] = entry
    return entries


def _name(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, with slashes; each folder in it is read for itself, so that one folder has one name."""
    name = entry.filename
    if not entry.flag_bits & UTF_8 and not name.isascii():
        with contextlib.suppress(UnicodeEncodeError):  # zipfile has read another encoding than its own cp437
            return "/".join(_undeclared(part) for part in name.encode("cp437").split(b"/"))
    return name.replace("\\", "/")


def _undeclared(data: bytes) -> str:
    """A name whose encoding a zip does not declare, as UTF-8, GB18030 or cp437, or else with escapes."""
    for encoding in ("utf-8", "gb18030"):
        with contextlib.suppress(UnicodeDecodeError):
            name = data.decode(encoding)
            if encoding == "utf-8" or _is_chinese(name, data):
                return name.replace("\\", "/")
    if _is_western(data):
        return data.decode("cp437").replace("\\", "/")
    return data.replace(b"\\", b"/").decode("ascii", "backslashreplace")


def _is_western(data: bytes) -> bool:
    """Whether all of a name is letters in cp437, the code page of DOS, which half of its other characters are not."""
    return all(char.isascii() or char.isalpha() for char in data.decode("cp437"))


def _is_chinese(name: str, data: bytes) -> bool:
    """Whether a name that GB18030 can read is meant so: it has a Chinese character that nothing Western looks like.

    An accented letter before an ASCII one also makes a Chinese character, and so do two accented letters, but none of
    the common ones of GB 2312.
    """
    first, second = (0xB0, 0xA1) if _is_western(data) else (0x81, 0x80)
    pairs = (char.encode("gb18030") for char in name if "\u4e00" <= char <= "\u9fff")
    return any(len(pair) == 2 and pair[0] >= first and pair[1] >= second for pair in pairs)


def read_entry(opened: Opened, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of one entry of a zip, without listing the others again.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable(say("{path} is a link").then(THE_FILE_ITSELF))
    if entry.flag_bits & 1:
        raise Unreadable(say("{path} is encrypted").then(say("submit a zip without a password")))
    try:
        with opened() as file:
            file.seek(entry.header_offset)
            file.seek(sum(LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))), os.SEEK_CUR)
            if entry.compress_type == zipfile.ZIP_BZIP2:
                packed = file.read(min(entry.compress_size, 2 * limit + BLOCK_BYTES))
                return _unpacked_blocks(packed, entry.CRC, limit + 1)
            unpacked, data = zipfile.ZipExtFile(file, "r", entry), bytearray()
            while len(data) <= limit and (piece := unpacked.read(STEP_BYTES)):
                data += piece
            return bytes(data[: limit + 1])
    except Exception as error:  # each decompressor raises its own, as LZMAError
        raise _damaged(error) from None


def _unpacked_blocks(packed: bytes, checksum: int, most: int) -> bytes:
    """The first ``most`` bytes of what bzip2 has packed; zipfile would unpack all that a few bytes become first."""
    data = bz2.BZ2Decompressor().decompress(packed, most)
    if len(data) < most and zlib.crc32(data) != checksum:
        raise zipfile.BadZipFile("Bad CRC-32")
    return data


def _damaged(error: Exception) -> Unreadable:
    problem = TOO_LARGE if isinstance(error, MemoryError) else str(error)
    return Unreadable(say("{path} is damaged ({problem})", problem=problem))


def _tar_files(file: IO[bytes], mode: Mode) -> Files:
    """The files of a tar archive; of those that are neither source nor archive by their names, only the name is kept.

    Raises:
        Unreadable: If it lists too many files, is damaged, or does not fit into memory.
    """
    files: dict[str, Read] = {}
    try:
        with tarfile.open(fileobj=file, mode=mode) as archive:
            for number, member in enumerate(archive):
                if number >= MAX_LISTED:
                    raise Unreadable(TOO_MANY)
                name = member.name.replace("\\", "/").removeprefix("./")
                if member.isdir() or is_clutter(name):
                    continue
                wanted = member.isreg() and (may_be_source(name) or has_name_of_any_archive(name))
                content = archive.extractfile(member) if wanted else None
                most = MAX_FILE_BYTES + 1 if name.endswith(".py") else MAX_ARCHIVE_BYTES
                data = content.read(most) if content else b""
                # Of equal names the last counts, as with tar.
                files[name] = partial(_kept, data if member.isreg() else None)
                archive.members = []  # type: ignore[attr-defined] # or it would keep all members in memory
    except Unreadable:
        raise
    except Exception as error:  # tarfile may raise anything for hostile bytes; an xz may ask for gigabytes
        raise _damaged(error) from None
    return files


def _kept(data: bytes | None, limit: int) -> bytes:
    if data is None:
        raise Unreadable(say("{path} is a link or a special file").then(THE_FILE_ITSELF))
    return data[: limit + 1]
