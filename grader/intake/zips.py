"""Lists and reads zips in memory: nothing is extracted to disk, and no size that the archive claims is believed."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import IO, Any

from .bundle import MAX_LISTED, Files, Folders
from .origin import WHOLE, Part
from .submission import Unreadable
from .unpack import read_packed

UTF_8 = 0x800  # the flag of an entry whose name is UTF-8
MAX_DIRECTORY_BYTES = 8 << 20  # of names, sizes and places: room for a hundred thousand files
TOO_MANY = f"lists more than {MAX_LISTED} files and folders; hand in src/ only"


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
            raise Unreadable("lists a file twice; pack it anew")
        files[name] = _Entry(file, entry)
    return files


class _Entry:
    """Reads one entry."""

    def __init__(self, file: IO[bytes], entry: zipfile.ZipInfo) -> None:
        self._file, self._entry = file, entry

    def __call__(self, limit: int) -> bytes:
        return read_entry(self._file, self._entry, limit)


def name_of(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, with slashes; some tools write UTF-8 without saying so."""
    name = entry.filename
    if not entry.flag_bits & UTF_8 and not name.isascii():
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = entry.filename
    return name.replace("\\", "/")


def read_entry(file: IO[bytes], entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Read at most ``limit + 1`` bytes of one entry of a zip.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable("is a link; hand in the file itself")
    if entry.flag_bits & 1:
        raise Unreadable("is encrypted; hand in a zip without a password")
    try:
        return read_packed(file, entry, limit + 1)
    except MemoryError:
        raise
    except Exception as error:  # each decompressor raises its own, as LZMAError
        raise Unreadable(f"is damaged ({error})") from None
