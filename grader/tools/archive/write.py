"""Writes an archive: the same folder of reports and the same submissions give the same bytes."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...intake.bundle import MAX_LISTED, open_regular
from ...intake.candidate import spelled
from ...results.database import LEDGER, ledger_bytes
from ...results.report import Summary, json_text
from ...results.sources import SOURCES, Sources
from ..release.write import MOMENT
from .manifest import MANIFEST, REPORTS, RUBRIC, SUBMISSIONS, ArchiveError, Manifest, Packed

KEPT = (".json", ".toml", ".csv", ".xml")  # files beside the reports: summary, decisions, what was exported
CHUNK = 1 << 20
LARGE = 1 << 31  # bytes from which on an entry needs the larger form of a zip


@dataclass
class Archived:
    """What went into an archive.

    Attributes:
        files: In order.
        folders: Empty ones.
        left_out: Links, pipes and devices among the submissions.
    """

    files: list[Packed] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def write_archive(out: Path, file: Path, summary: Summary, sources: Sources, rubric: Path) -> Archived:
    """Write an archive whole, or not at all.

    Args:
        out: The folder of reports.
        file: The archive.
        summary: Of the folder.
        sources: Where the submissions lie, with absolute paths.
        rubric: The file.

    Raises:
        ArchiveError: If there are too many files for one archive.
        LedgerError: If a run is under way, or the ledger is damaged.
        OSError: If a file cannot be read or written.
    """
    done = Archived()
    part = file.with_name(f"{file.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in _reports(out, summary):
                _add(archive, f"{REPORTS}/{name}", path, done)
            ledger = ledger_bytes(out)
            if ledger is not None:
                _add_bytes(archive, f"{REPORTS}/{LEDGER}", ledger, done)
            _add(archive, RUBRIC, rubric, done)
            moved = _submissions(archive, sources, done)
            if len(done.files) >= MAX_LISTED:
                raise ArchiveError(f"{out}: more than {MAX_LISTED} files. Archive the download as a zip, not unpacked.")
            manifest = Manifest(
                assignment=summary.assignment,
                files=sorted(done.files, key=lambda own: own.path),
                folders=sorted(done.folders),
                sources=moved,
                environment=summary.environment,
                provenance=summary.provenance,
            )
            archive.writestr(_entry(MANIFEST), json_text(manifest))
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return done


def _reports(out: Path, summary: Summary) -> Iterator[tuple[str, Path]]:
    """The files of a folder of reports, without pages, which can be written again, and what is about this machine."""
    for path in sorted(out.iterdir()):
        if path.is_file() and path.suffix in KEPT and path.name not in (SOURCES, MANIFEST, RUBRIC):
            yield path.name, path
    for line in summary.submissions:
        yield f"{line.id}/report.json", out / line.id / "report.json"


def _submissions(archive: zipfile.ZipFile, sources: Sources, done: Archived) -> Sources:
    """Add everything that was given to ``grade``; where it lies in the archive."""
    moved = []
    for number, text in enumerate(sources.paths, 1):
        path = Path(text)
        name = f"{SUBMISSIONS}/{number}/{spelled(path.resolve().name)}"
        moved.append(name)
        if path.is_dir():
            _add_folder(archive, name, path, done)
        else:
            _add(archive, name, path, done)
    roster = Path(sources.roster) if sources.roster else None
    if roster:
        _add(archive, f"{SUBMISSIONS}/{spelled(roster.name)}", roster, done)
    kept = f"{SUBMISSIONS}/{spelled(roster.name)}" if roster else None
    return Sources(paths=moved, source=sources.source, roster=kept)


def _add_folder(archive: zipfile.ZipFile, name: str, folder: Path, done: Archived) -> None:
    """Add the regular files of a folder; no link is followed."""
    for current, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        inside = os.path.relpath(current, folder)
        here = name if inside == "." else f"{name}/{spelled(inside.replace(os.sep, '/'))}"
        if not folders and not files:
            done.folders.append(here)
        for own in sorted([*files, *(own for own in folders if os.path.islink(os.path.join(current, own)))]):
            path = Path(current, own)
            if stat.S_ISREG(path.lstat().st_mode):
                _add(archive, f"{here}/{spelled(own)}", path, done)
            else:
                done.left_out.append(f"{here}/{spelled(own)}")


def _add(archive: zipfile.ZipFile, name: str, path: Path, done: Archived) -> None:
    with open_regular(path, follow=True) as file:
        chunks = iter(lambda: file.read(CHUNK), b"")
        _stream(archive, name, chunks, os.fstat(file.fileno()).st_size, done)


def _add_bytes(archive: zipfile.ZipFile, name: str, data: bytes, done: Archived) -> None:
    _stream(archive, name, [data], len(data), done)


def _stream(archive: zipfile.ZipFile, name: str, chunks: Iterable[bytes], about: int, done: Archived) -> None:
    """Add a file chunk by chunk, and note its size and digest."""
    digest, size = hashlib.sha256(), 0
    with archive.open(_entry(name), "w", force_zip64=about >= LARGE) as entry:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            entry.write(chunk)
    done.files.append(Packed(path=name, size=size, sha256=digest.hexdigest()))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
