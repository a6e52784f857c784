"""Reads a submission from a zip in memory: nothing is extracted, and no size in the archive is believed."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from .layout import arrange
from .origin import WHOLE, Part
from .submission import MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, Submission, Unreadable

UTF_8 = 0x800  # the flag of an entry whose name is UTF-8


def read_archive(source: Path | IO[bytes], identifier: str, part: Part = WHOLE) -> Submission:
    """The submission in a zip, or in a part of one; if it cannot be read it comes back with a reason.

    A zip inside a zip is opened only where the outer one is the platform's.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            entries = [
                entry for entry in archive.infolist() if not entry.filename.endswith("/") and name_of(entry) in part
            ]
            if len(entries) > MAX_ENTRIES:
                raise Unreadable(f"The archive holds {len(entries)} files; hand in src/ only.")
            by_name = {part.shown(name_of(entry)): entry for entry in entries}
            if len(by_name) < len(entries):
                raise Unreadable("The archive lists a file twice; pack it anew.")

            def read(name: str, limit: int) -> bytes:
                return read_entry(archive, by_name[name], limit)

            if part != WHOLE:
                return arrange_or_open(identifier, {name: name for name in by_name}, read)
            return arrange(identifier, by_name, lambda name: read(name, MAX_FILE_BYTES))
    except Unreadable as problem:
        return Submission(identifier, reason=f"{problem}")
    except Exception as error:  # zipfile raises whatever damaged or hostile bytes lead it to
        return Submission(identifier, reason=f"The zip cannot be read: {error}.")


def arrange_or_open(identifier: str, names: Mapping[str, str], read: Callable[[str, int], bytes]) -> Submission:
    """The submission in these files, or in the only zip among them.

    Args:
        identifier: Of the submission.
        names: What files were called, to what ``read`` knows them by.
        read: Reads a file up to a limit, and a byte beyond it.

    Raises:
        Unreadable: If there is nothing to grade.
        OSError: If the system refuses.
    """
    submission = arrange(identifier, names, lambda name: read(names[name], MAX_FILE_BYTES))
    archives = [name for name in names if name.lower().endswith(".zip")]
    if submission.reason is None or len(archives) != 1:
        return submission
    data = read(names[archives[0]], MAX_ARCHIVE_BYTES)
    if len(data) > MAX_ARCHIVE_BYTES:
        raise Unreadable(f"The zip is larger than {MAX_ARCHIVE_BYTES >> 20} MiB; hand in src/ only.")
    return read_archive(io.BytesIO(data), identifier)


def name_of(entry: zipfile.ZipInfo) -> str:
    """The name of an entry, with slashes; some tools write UTF-8 without saying so."""
    name = entry.filename
    if not entry.flag_bits & UTF_8 and not name.isascii():
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = entry.filename
    return name.replace("\\", "/")


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Read one entry, one byte beyond ``limit`` at most.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable("is a link; hand in the file itself")
    if entry.flag_bits & 1:
        raise Unreadable("is encrypted; hand in a zip without a password")
    try:
        with archive.open(entry) as file:
            return file.read(limit + 1)
    except Exception as error:  # and so does each decompressor, LZMAError for one
        raise Unreadable(f"is damaged ({error})") from None
