"""Reads a submission from a zip in memory: nothing is extracted, and no size in the archive is believed."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from typing import IO

from .layout import arrange
from .submission import MAX_ENTRIES, MAX_FILE_BYTES, Submission, Unreadable


def read_archive(source: Path | IO[bytes], identifier: str) -> Submission:
    """The submission in a zip; one that cannot be read comes back with a reason."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            if len(entries) > MAX_ENTRIES:
                raise Unreadable(f"The archive holds {len(entries)} files; hand in src/ only.")
            by_name = {entry.filename.replace("\\", "/"): entry for entry in entries}
            if len(by_name) < len(entries):
                raise Unreadable("The archive lists a file twice; pack it anew.")
            return arrange(identifier, by_name, lambda name: _read(archive, by_name[name]))
    except Unreadable as problem:
        return Submission(identifier, reason=f"{problem}")
    except Exception as error:  # zipfile raises whatever damaged or hostile bytes lead it to
        return Submission(identifier, reason=f"The zip cannot be read: {error}.")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Read one entry, as much of it as a source file may have.

    Raises:
        Unreadable: If it is a link, encrypted or damaged.
    """
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable("is a link; hand in the file itself")
    if entry.flag_bits & 1:
        raise Unreadable("is encrypted; hand in a zip without a password")
    try:
        with archive.open(entry) as file:
            return file.read(MAX_FILE_BYTES + 1)
    except Exception as error:  # and so does each decompressor, LZMAError for one
        raise Unreadable(f"is damaged ({error})") from None
