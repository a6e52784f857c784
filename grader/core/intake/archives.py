"""Lists and reads archives in memory: nothing is extracted to disk, and no size that an archive claims is believed.

A zip's entries are read when they are asked for. A tar archive, compressed or not, is read in one pass, and only files
that may be needed are kept.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from grader.core.messages import Field, say

from .kinds import BZIP2, GZIP, IS, START_BYTES, XZ, ZIP, archive_kind, has_name_of_any_archive
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

Opened = Callable[[], IO[bytes]]  # opens an archive anew, for each file that is read


def archive_files(opened: Opened) -> Files:
    """The files of an archive, whatever its name.

    Raises:
        Unreadable: If it is not an archive that can be opened.
        Exception: Any, if the archive is damaged.
    """
    with opened() as file:
        kind = archive_kind(file.read(START_BYTES))
        if kind == "tar":
            file.seek(0)
            return _tar_files(file)
    if kind not in ("", "zip"):
        raise Unreadable(say(IS[kind]).then(ZIP))
    return zip_files(opened)


UTF_8 = 0x800  # the flag of an entry whose name is UTF-8
LOCAL_HEADER = struct.Struct("<26xHH")  # …, lengths of name and extra field, which come next; a checksum tells the rest
MAX_BLOCK_BYTES = 1 << 20  # bzip2 gives nothing before it has a whole block of 900 kB
MIN_DICTIONARY = 1 << 12
MAX_DIRECTORY_BYTES = 8 << 20  # of names, sizes and places: room for a hundred thousand files
TOO_MANY = say("{path} contains more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY)


class _Bounded:
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


def zip_files(opened: Opened) -> Files:
    """All files of a zip; see :func:`zip_entries`."""
    entries = zip_entries(opened)
    return {name: partial(read_entry, opened, entry) for name, entry in entries.items() if not name.endswith("/")}


def zip_entries(opened: Opened) -> dict[str, zipfile.ZipInfo]:
    """Files and folders of a zip by name; a folder's name ends in a slash.

    Raises:
        Unreadable: If its table of contents is too long, or lists a file twice.
        Exception: Any, from zipfile, if the zip is damaged.
    """
    with opened() as file:
        bounded: Any = _Bounded(file)
        with zipfile.ZipFile(bounded) as archive:
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
    """Read at most ``limit + 1`` bytes of one entry of a zip.

    zipfile's own reader limits what it returns, but not what it unpacks before that with bzip2 or LZMA: a kilobyte
    may unpack to gigabytes.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable(say("{path} is a link").then(THE_FILE_ITSELF))
    if entry.flag_bits & 1:
        raise Unreadable(say("{path} is encrypted").then(say("submit a zip without a password")))
    most = limit + 1
    try:
        with opened() as file:
            file.seek(entry.header_offset)
            file.seek(sum(LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))), os.SEEK_CUR)
            # What does not compress grows a little.
            packed = file.read(min(entry.compress_size, most + most // 8 + MAX_BLOCK_BYTES))
        data = _unpacked(entry.compress_type, packed, most)
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # each decompressor raises its own, as LZMAError
        raise _damaged(str(error)) from None
    if len(data) < most and zlib.crc32(data) != entry.CRC:
        raise _damaged(say("its checksum is wrong"))
    return data


def _damaged(problem: Field) -> Unreadable:
    return Unreadable(say("{path} is damaged ({problem})", problem=problem))


def _unpacked(method: int, packed: bytes, most: int) -> bytes:
    """The first ``most`` bytes that an entry unpacks to."""
    if method == zipfile.ZIP_STORED:
        return packed[:most]
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-15).decompress(packed, most)
    if method == zipfile.ZIP_BZIP2:
        return bz2.BZ2Decompressor().decompress(packed, most)
    if method == zipfile.ZIP_LZMA:
        return _by_lzma(packed, most)
    raise _damaged(say("compression method {n} is not supported", n=method))


def _by_lzma(packed: bytes, most: int) -> bytes:
    """LZMA as in a zip, given the header of a .lzma file, and no larger a dictionary than what may be returned."""
    properties, dictionary = struct.unpack_from("<4xBI", packed)
    header = struct.pack("<BIq", properties, max(MIN_DICTIONARY, min(dictionary, most)), -1)
    return lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(header + packed[9:], most)


MAX_UNPACKED_BYTES = 512 << 20  # a tar has to be read from its start, large files that nobody needs included
MAX_KEPT_BYTES = 64 << 20
# What unpacks a compressed tar, by how it begins: never more than is asked for.
UNPACKING: dict[bytes, Callable[[IO[bytes]], Any]] = {
    GZIP: lambda file: gzip.GzipFile(fileobj=file),
    BZIP2: bz2.BZ2File,
    XZ: lzma.LZMAFile,
}


class _TarStream:
    """The bytes that a compressed or plain file unpacks to, with a limit on their sum."""

    def __init__(self, file: IO[bytes]) -> None:
        start = file.read(START_BYTES)
        file.seek(0)
        unpacking = next((unpacking for mark, unpacking in UNPACKING.items() if start.startswith(mark)), None)
        self._file, self._total = unpacking(file) if unpacking else file, 0

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        self._total += len(data)
        if self._total > MAX_UNPACKED_BYTES:
            raise Unreadable(say("{path} unpacks to more than {n} MiB", n=MAX_UNPACKED_BYTES >> 20).then(SRC_ONLY))
        return data


def _tar_files(file: IO[bytes]) -> Files:
    """The files of a tar archive; of those that are neither source nor archive by their names, only the name is kept.

    Raises:
        Unreadable: If it is too large, or damaged.
    """
    files: dict[str, Read] = {}
    kept = 0
    unpacked: Any = _TarStream(file)
    try:
        with tarfile.open(fileobj=unpacked, mode="r|") as archive:
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
                kept += len(data)
                if kept > MAX_KEPT_BYTES:
                    much = say("{path} contains more than {n} MiB of source", n=MAX_KEPT_BYTES >> 20)
                    raise Unreadable(much.then(SRC_ONLY))
                # Of equal names the last counts, as with tar.
                files[name] = partial(_kept, data if member.isreg() else None)
                archive.members = []  # type: ignore[attr-defined] # or it would keep all members in memory
    except Unreadable:
        raise
    except Exception as error:  # tarfile may raise anything for hostile bytes; an xz may ask for gigabytes
        raise _damaged(str(error) or "Memory usage limit exceeded") from None
    return files


def _kept(data: bytes | None, limit: int) -> bytes:
    if data is None:
        raise Unreadable(say("{path} is a link or a special file").then(THE_FILE_ITSELF))
    return data[: limit + 1]
