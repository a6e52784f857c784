"""Lists and reads zips in memory: nothing is extracted to disk, and no size that the archive claims is believed."""

from __future__ import annotations

import contextlib
import io
import stat
import zipfile
from typing import IO, Any

from ..messages import say
from .bundle import MAX_LISTED, Files, Folders
from .origin import WHOLE, Part
from .submission import SRC_ONLY, THE_FILE_ITSELF, Unreadable
from .unpack import Damaged, read_packed

UTF_8 = 0x800  # the flag of an entry whose name is UTF-8
MAX_DIRECTORY_BYTES = 8 << 20  # of names, sizes and places: room for a hundred thousand files
TOO_MANY = say("{path} lists more than {n} files and folders", n=MAX_LISTED).then(SRC_ONLY)


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
            raise Unreadable(say("{path} lists a file twice").then(say("pack it anew")))
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
        raise Unreadable(say("{path} is encrypted").then(say("hand in a zip without a password")))
    try:
        return read_packed(file, entry, limit + 1)
    except MemoryError:
        raise
    except Exception as error:  # each decompressor raises its own, as LZMAError
        problem = error.message if isinstance(error, Damaged) else str(error)
        raise Unreadable(say("{path} is damaged ({problem})", problem=problem)) from None
