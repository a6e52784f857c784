"""What an archive says of itself: every file with its digest, and with what it was graded."""

from __future__ import annotations

from typing import Literal

from ...results.report import Environment, Provenance, Record
from ...results.sources import Sources

MANIFEST = "manifest.json"
REPORTS, SUBMISSIONS, RUBRIC = "reports", "submissions", "rubric.toml"  # what lies at the top of an archive
MAX_FILE_BYTES = 4 << 30  # of one file
MAX_RATIO = 200  # times its own size that an archive may unpack to; reports and source text make ten
SMALL = 1 << 30  # bytes to which any archive may unpack


class ArchiveError(Exception):
    """An archive that cannot be written or opened; one line that says why, and what to do."""


class Packed(Record):
    """One file.

    Attributes:
        path: Where it belongs.
        entry: Its name in the archive; empty if that is ``path``.
    """

    path: str
    size: int
    sha256: str
    entry: str = ""

    @property
    def name(self) -> str:
        """Its name in the archive."""
        return self.entry or self.path


class Manifest(Record):
    """``manifest.json``, the last file of an archive.

    Attributes:
        files: All others, sorted by path.
        folders: Folders of submissions with nothing in them, sorted.
        sources: Where the submissions lie, relative to the opened folder.
        environment: Versions, devices and isolation of the last run.
        provenance: How it was graded.
    """

    schema_version: Literal["1.0"] = "1.0"
    assignment: str
    files: list[Packed]
    folders: list[str]
    sources: Sources
    environment: Environment
    provenance: Provenance

    def problem(self, size: int) -> str:
        """Why an archive of ``size`` bytes with these files is not opened; empty if it is."""
        if large := next((own for own in self.files if not 0 <= own.size <= MAX_FILE_BYTES), None):
            return f"{large.path} has {large.size} bytes, and at most {MAX_FILE_BYTES >> 30} GiB are taken"
        total = sum(own.size for own in self.files)
        if total > max(SMALL, MAX_RATIO * size):
            return f"{size >> 20} MiB unpack to {total >> 20} MiB, more than {MAX_RATIO} times as much"
        if len({own.path for own in self.files}) < len(self.files):
            return "a file is named twice"
        return ""
