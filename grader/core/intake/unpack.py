"""Unpacks one entry of an archive up to a limit, whatever its method and the sizes that the archive claims."""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from grader.core.messages import Message, say

CHUNK = 1 << 16
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, …, lengths of name and extra field, which come next
MIN_DICTIONARY = 1 << 12


class Damaged(Exception):
    """A damaged entry; the message says what is wrong."""

    def __init__(self, message: Message) -> None:
        """Keep the message."""
        super().__init__(message)
        self.message = message


class Decompressor(Protocol):
    """Undoes a method of compression, with a limit on how much each call returns."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Take ``data``; return at most ``max_length`` bytes and keep the rest for later."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data has been reached."""


class _Stored:
    """The method without any compression."""

    eof = False

    def __init__(self) -> None:
        self._rest = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._rest += data
        taken, self._rest = self._rest[:max_length], self._rest[max_length:]
        return taken


class _Deflated:
    """Deflate: zlib does not keep input whose output had no room, so this class hands it that input again."""

    def __init__(self, window_bits: int) -> None:
        self._decompressor = zlib.decompressobj(window_bits)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._decompressor.decompress(self._decompressor.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._decompressor.eof


def raw_deflate() -> Decompressor:
    """Deflate as in a zip, without a header."""
    return _Deflated(-15)


def gzip() -> Decompressor:
    """One member of a gzip file."""
    return _Deflated(31)


def unpacked(chunks: Iterator[bytes], method: Decompressor, limit: int) -> bytes:
    """The first ``limit`` bytes that ``chunks`` unpack to.

    Raises:
        Exception: Any, from the decompressor, if the data are damaged.
    """
    found: list[bytes] = []
    room = limit
    for chunk in chunks:
        part = method.decompress(chunk, room)
        while part:
            found.append(part)
            room -= len(part)
            part = method.decompress(b"", room) if room > 0 and not method.eof else b""
        if room <= 0 or method.eof:
            break
    return b"".join(found)


def read_packed(file: IO[bytes], entry: zipfile.ZipInfo, limit: int) -> bytes:
    """The first ``limit`` bytes of a zip's entry.

    zipfile's own reader limits what it returns, but not what it unpacks before that with bzip2 or LZMA: a kilobyte
    may unpack to gigabytes.

    Args:
        file: The zip.
        entry: The entry in its table of contents; its claimed size is not believed.
        limit: In bytes.

    Raises:
        Damaged: If the entry is not at its place, its method is unknown, or its checksum is wrong.
        Exception: Any, from the decompressor, if the data are damaged.
    """
    file.seek(entry.header_offset)
    header = file.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
        raise Damaged(say("its header is missing"))
    _, name, extra = LOCAL_HEADER.unpack(header)
    file.seek(name + extra, 1)
    chunks = _chunks(file, entry.compress_size)
    data = unpacked(chunks, _method(entry.compress_type, limit), limit)
    if len(data) < limit and zlib.crc32(data) != entry.CRC:
        raise Damaged(say("its checksum is wrong"))
    return data


def _chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (chunk := file.read(min(CHUNK, size))):
        size -= len(chunk)
        yield chunk


def _method(kind: int, limit: int) -> Decompressor:
    methods: dict[int, Callable[[], Decompressor]] = {
        zipfile.ZIP_STORED: _Stored,
        zipfile.ZIP_DEFLATED: raw_deflate,
        zipfile.ZIP_BZIP2: bz2.BZ2Decompressor,
        zipfile.ZIP_LZMA: lambda: _Lzma(limit),
    }
    if kind not in methods:
        raise Damaged(say("compression method {n} is not supported", n=kind))
    return methods[kind]()


class _Lzma:
    """LZMA as in a zip: its own header, then raw data. The dictionary is never larger than what may be returned."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._header = b""
        self._decompressor: lzma.LZMADecompressor | None = None

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._decompressor is None:
            self._header += data
            if len(self._header) < 9:
                return b""
            data, self._decompressor = self._header[9:], self._raw(self._header[:9])
        return self._decompressor.decompress(data, max_length)

    def _raw(self, header: bytes) -> lzma.LZMADecompressor:
        size, first, dictionary = struct.unpack("<2xHBI", header)
        if size != 5 or first >= 9 * 5 * 5:
            raise Damaged(say("its LZMA header is wrong"))
        rest, literal_context = divmod(first, 9)
        position, literal_position = divmod(rest, 5)
        most = max(MIN_DICTIONARY, self._limit)
        properties = {"lc": literal_context, "lp": literal_position, "pb": position}
        filters = [{"id": lzma.FILTER_LZMA1, **properties, "dict_size": max(MIN_DICTIONARY, min(dictionary, most))}]
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)

    @property
    def eof(self) -> bool:
        return self._decompressor is not None and self._decompressor.eof
