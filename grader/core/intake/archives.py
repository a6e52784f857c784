"""Lists and reads archives in memory: nothing is extracted to disk, and no size that an archive claims is believed.

A zip's entries are read when they are asked for. A tar archive, compressed or not, is read in one pass, and only files
that may be needed are kept.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from typing import IO, Any

from grader.core.messages import say

from .origin import WHOLE, Part
from .submission import (
    MAX_ARCHIVE_BYTES,
    MAX_FILE_BYTES,
    MAX_LISTED,
    SRC_ONLY,
    THE_FILE_ITSELF,
    Files,
    Folders,
    Read,
    Unreadable,
    is_clutter,
)
from .unpack import CHUNK, Damaged, Decompressor, gzip, read_packed

UTF_8 = 0x800  # the flag of an entry whose name is UTF-8
MAX_DIRECTORY_BYTES = 8 << 20  # of names, sizes and places: room for a hundred thousand files
TOO_MANY = say("{path} contains more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY)


class _Bounded(io.RawIOBase):
    """A file that refuses reads larger than a table of contents may be: zipfile reads the whole table unchecked."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, MAX_DIRECTORY_BYTES + 1) if size >= 0 else MAX_DIRECTORY_BYTES + 1)
        if len(data) > MAX_DIRECTORY_BYTES:
            raise Unreadable(TOO_MANY)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def listed(file: IO[bytes]) -> list[zipfile.ZipInfo]:
    """The entries of a zip, folders too.

    Raises:
        Unreadable: If its table of contents is too long.
        Exception: Any, from zipfile, if the zip is damaged.
    """
    bounded: Any = _Bounded(file)
    with zipfile.ZipFile(bounded) as archive:
        entries = archive.infolist()
    if len(entries) > MAX_LISTED:
        raise Unreadable(TOO_MANY)
    return entries


def zip_files(file: IO[bytes], part: Part = WHOLE) -> Files:
    """The files of a zip. They can be read for as long as ``file`` is open.

    Args:
        file: The zip.
        part: The part of an export in which folders are counted; all files are returned.

    Raises:
        Unreadable: If it lists a file twice, or too many files or folders.
        Exception: Any, from zipfile, if the zip is damaged.
    """
    files: dict[str, _Entry] = {}
    folders = Folders()
    for entry in listed(file):
        name = name_of(entry)
        if name in part:
            folders.above(name)
        if name.endswith("/"):
            continue
        if name in files:
            raise Unreadable(say("{path} lists a file twice").then(say("repack it")))
        files[name] = _Entry(file, entry)
    return files


class _Entry:
    """Reads one entry."""

    def __init__(self, file: IO[bytes], entry: zipfile.ZipInfo) -> None:
        self._file, self._entry = file, entry

    def __call__(self, limit: int) -> bytes:
        return read_entry(self._file, self._entry, limit)


def name_of(entry: zipfile.ZipInfo) -> str:
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


def read_entry(file: IO[bytes], entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of one entry of a zip.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable(say("{path} is a link").then(THE_FILE_ITSELF))
    if entry.flag_bits & 1:
        raise Unreadable(say("{path} is encrypted").then(say("submit a zip without a password")))
    try:
        return read_packed(file, entry, limit + 1)
    except MemoryError:
        raise
    except Exception as error:  # each decompressor raises its own, as LZMAError
        problem = error.message if isinstance(error, Damaged) else str(error)
        raise Unreadable(say("{path} is damaged ({problem})", problem=problem)) from None


MAX_UNPACKED_BYTES = 512 << 20  # a tar has to be read from its start, large files that nobody needs included
MAX_KEPT_BYTES = 64 << 20
PACKED: dict[bytes, Callable[[], Decompressor]] = {
    b"\x1f\x8b": gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=MAX_ARCHIVE_BYTES),
}


class _Unpacked(io.RawIOBase):
    """The bytes that a compressed file unpacks to, with a limit on each read and on their sum."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._total = file, 0
        start = file.read(8)
        file.seek(0)
        self._method = next((method() for mark, method in PACKED.items() if start.startswith(mark)), None)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > MAX_UNPACKED_BYTES:
            raise Unreadable(say("{path} is damaged").then(say("repack it")))
        data = self._file.read(size) if self._method is None else self._next(self._method, size)
        self._total += len(data)
        if self._total > MAX_UNPACKED_BYTES:
            raise Unreadable(say("{path} unpacks to more than {n} MiB", n=MAX_UNPACKED_BYTES >> 20).then(SRC_ONLY))
        return data

    def _next(self, method: Decompressor, size: int) -> bytes:
        found = method.decompress(b"", size) if self._total else b""
        while not found and not method.eof and (chunk := self._file.read(CHUNK)):
            found = method.decompress(chunk, size)
        return found


def tar_files(file: IO[bytes], wanted: Callable[[str], bool]) -> Files:
    """The files of a tar archive.

    Args:
        file: The archive, at its start.
        wanted: Whether a file of this name may be read later; of others only the name is kept.

    Raises:
        Unreadable: If it is too large, or damaged.
    """
    files: dict[str, Read] = {}
    folders, kept = Folders(), 0
    unpacked: Any = _Unpacked(file)
    try:
        with tarfile.open(fileobj=unpacked, mode="r|") as archive:
            for number, member in enumerate(archive):
                if number >= MAX_LISTED:
                    raise Unreadable(
                        say("{path} contains more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY)
                    )
                name = member.name.replace("\\", "/").removeprefix("./")
                folders.above(f"{name}/" if member.isdir() else name)
                if member.isdir() or is_clutter(name):
                    continue
                content = archive.extractfile(member) if member.isreg() and wanted(name) else None
                most = MAX_FILE_BYTES + 1 if name.endswith(".py") else MAX_ARCHIVE_BYTES
                data = content.read(most) if content else b""
                kept += len(data)
                if kept > MAX_KEPT_BYTES:
                    raise Unreadable(
                        say("{path} contains more than {n} MiB of source", n=MAX_KEPT_BYTES >> 20).then(SRC_ONLY)
                    )
                files[name] = _Kept(data) if member.isreg() else _refused  # of equal names the last, as with tar
                archive.members = []  # type: ignore[attr-defined] # or it would keep all members in memory
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # tarfile may raise anything for hostile bytes
        raise Unreadable(say("{path} is damaged ({problem})", problem=str(error))) from None
    return files


class _Kept:
    """Gives the content of a file that has been read already."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __call__(self, limit: int) -> bytes:
        return self._data[: limit + 1]


def _refused(limit: int) -> bytes:
    del limit
    raise Unreadable(say("{path} is a link or a special file").then(THE_FILE_ITSELF))
