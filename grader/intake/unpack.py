"""Unpacks one entry of an archive, and no further than was asked for, whatever the method and the sizes it claims."""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

CHUNK = 1 << 16
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, …, lengths of name and extra field, which follow
MIN_DICTIONARY = 1 << 12


class Damaged(Exception):
    """Bytes that are not what they should be; the text says what is wrong."""


class Decompressor(Protocol):
    """What undoes a method of packing, as much at a time as there is room for."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Take in ``data``; give at most ``max_length`` bytes and keep the rest for later."""

    @property
    def eof(self) -> bool:
        """Whether the end of the packed data has been reached."""


class _Stored:
    """No packing at all."""

    eof = False

    def __init__(self) -> None:
        self._rest = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._rest += data
        taken, self._rest = self._rest[:max_length], self._rest[max_length:]
        return taken


class _Deflated:
    """Deflate keeps what there was no room for in an attribute, and wants it back."""

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
    """What ``chunks`` unpack to, ``limit`` bytes at most.

    Raises:
        Exception: Whatever the decompressor says of damaged data.
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
    """The content of a zip's entry, ``limit`` bytes at most.

    zipfile's own reader bounds what it returns, but for bzip2 and LZMA not what it unpacks first: a kilobyte may hold
    gigabytes.

    Args:
        file: The zip.
        entry: From its table of contents; only the place and the sums in it are believed.
        limit: In bytes.

    Raises:
        Damaged: If the entry is not where it should be, is packed in an unknown way, or its sum is wrong.
        Exception: Whatever else a decompressor says.
    """
    file.seek(entry.header_offset)
    header = file.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
        raise Damaged("its header is missing")
    _, name, extra = LOCAL_HEADER.unpack(header)
    file.seek(name + extra, 1)
    chunks = _chunks(file, entry.compress_size)
    data = unpacked(chunks, _method(entry.compress_type, limit), limit)
    if len(data) < limit and zlib.crc32(data) != entry.CRC:
        raise Damaged("its checksum is wrong")
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
        raise Damaged(f"packed by method {kind}, which is not known here")
    return methods[kind]()


class _Lzma:
    """LZMA as in a zip: its own header, then raw data. No dictionary is made larger than what may come out."""

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
            raise Damaged("its LZMA header is wrong")
        rest, literal_context = divmod(first, 9)
        position, literal_position = divmod(rest, 5)
        most = max(MIN_DICTIONARY, self._limit)
        properties = {"lc": literal_context, "lp": literal_position, "pb": position}
        filters = [{"id": lzma.FILTER_LZMA1, **properties, "dict_size": max(MIN_DICTIONARY, min(dictionary, most))}]
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)

    @property
    def eof(self) -> bool:
        return self._decompressor is not None and self._decompressor.eof
