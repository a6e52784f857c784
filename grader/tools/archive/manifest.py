"""What an archive says of itself: every file with its digest, and with what it was graded."""

from __future__ import annotations

from typing import Literal

from ...results.report import Environment, Provenance, Record
from ...results.sources import Sources

MANIFEST = "manifest.json"
REPORTS, SUBMISSIONS, RUBRIC = "reports", "submissions", "rubric.toml"  # what lies at the top of an archive


class ArchiveError(Exception):
    """An archive that cannot be written or opened; one line that says why, and what to do."""


class Packed(Record):
    """One file."""

    path: str
    size: int
    sha256: str


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
