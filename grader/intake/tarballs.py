"""Reads tar archives, compressed or not, in one pass and in memory; only files that may be needed are kept."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
from collections.abc import Callable
from typing import IO, Any

from ..messages import say
from .bundle import MAX_LISTED, Files, Folders, Read, is_clutter
from .submission import MAX_ARCHIVE_BYTES, MAX_FILE_BYTES, SRC_ONLY, THE_FILE_ITSELF, Unreadable
from .unpack import CHUNK, Decompressor, gzip

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
            raise Unreadable(say("{path} is damaged").then(say("pack it anew")))
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
                    raise Unreadable(say("{path} lists more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY))
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
                        say("{path} holds more than {n} MiB of source", n=MAX_KEPT_BYTES >> 20).then(SRC_ONLY)
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
