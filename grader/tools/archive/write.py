"""Writes an archive: the same folder of reports and the same submissions give the same bytes."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ...decisions.rounds import REPAIR
from ...intake.bundle import MAX_LISTED, MAX_NAME, open_regular
from ...intake.candidate import spelled
from ...results.database import LEDGER, ledger_bytes
from ...results.files import sync
from ...results.report import Summary, json_text
from ...results.sources import SOURCES, Sources
from ..release.write import MOMENT
from .manifest import MANIFEST, REPORTS, RUBRIC, SUBMISSIONS, ArchiveError, Manifest, Packed

KEPT = (".json", ".toml", ".csv", ".xml")  # files beside the reports: summary, decisions, what was exported
CHUNK = 1 << 20
LARGE = 1 << 31  # bytes from which on an entry needs the larger form of a zip
Item = tuple[str, Path | bytes]  # where a file belongs, and the file or its content
Follow = Callable[[Sequence[Item]], Iterable[Item]]


@dataclass
class Contents:
    """What goes into an archive.

    Attributes:
        items: Files, in order.
        folders: Empty folders of submissions.
        left_out: Links, pipes and devices among the submissions.
        sources: Where the submissions will lie.
    """

    items: list[Item] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    sources: Sources = field(default_factory=lambda: Sources(paths=[]))


def contents(out: Path, summary: Summary, sources: Sources, rubric: Path) -> Contents:
    """Everything that belongs to a class.

    Args:
        out: The folder of reports.
        summary: Of the folder.
        sources: Where the submissions lie, with absolute paths.
        rubric: The file.

    Raises:
        LedgerError: If a run is under way, or the ledger is damaged.
        OSError: If a folder cannot be read.
    """
    found = Contents([(f"{REPORTS}/{name}", path) for name, path in _reports(out, summary)])
    ledger = ledger_bytes(out)
    if ledger is not None:
        found.items.append((f"{REPORTS}/{LEDGER}", ledger))
    found.items.append((RUBRIC, rubric))
    moved = []
    for number, path in enumerate(map(Path, sources.paths), 1):
        moved.append(f"{SUBMISSIONS}/{number}/{spelled(path.resolve().name)}")
        if path.is_dir():
            _add_folder(moved[-1], path, found)
        else:
            found.items.append((moved[-1], path))
    roster = f"{SUBMISSIONS}/{spelled(Path(sources.roster).name)}" if sources.roster else None
    if roster and sources.roster:
        found.items.append((roster, Path(sources.roster)))
    found.sources = Sources(paths=moved, source=sources.source, roster=roster, every_attempt=sources.every_attempt)
    return found


def _reports(out: Path, summary: Summary) -> Iterator[tuple[str, Path]]:
    """The files of a folder of reports, without pages, which can be written again, and what is about this machine."""
    for path in sorted(out.iterdir()):
        if path.is_file() and path.suffix in KEPT and path.name not in (SOURCES, MANIFEST, RUBRIC):
            yield path.name, path
    for line in summary.submissions:
        yield f"{line.id}/report.json", out / line.id / "report.json"
    for path in sorted([*(out / REPAIR).glob("summary.json"), *(out / REPAIR).glob("*/report.json")]):
        yield path.relative_to(out).as_posix(), path


def _add_folder(name: str, folder: Path, found: Contents) -> None:
    """Add the regular files of a folder; no link is followed."""
    for current, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        inside = os.path.relpath(current, folder)
        here = name if inside == "." else f"{name}/{spelled(inside.replace(os.sep, '/'))}"
        if not folders and not files:
            found.folders.append(here)
        for own in sorted([*files, *(own for own in folders if os.path.islink(os.path.join(current, own)))]):
            path = Path(current, own)
            if stat.S_ISREG(path.lstat().st_mode):
                found.items.append((f"{here}/{spelled(own)}", path))
            else:
                found.left_out.append(f"{here}/{spelled(own)}")


def write_archive(file: Path, found: Contents, summary: Summary, follow: Follow) -> None:
    """Write an archive whole, or not at all.

    Args:
        file: The archive.
        found: What goes into it.
        summary: Of the folder of reports.
        follow: Passes the files on, to show progress.

    Raises:
        ArchiveError: If it could not be opened again.
        OSError: If a file cannot be read or written.
    """
    if len(found.items) >= MAX_LISTED:
        raise ArchiveError(f"{file}: more than {MAX_LISTED} files. Archive the download as a zip, not unpacked.")
    part = file.with_name(f"{file.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            packed = [_add(archive, number, *item) for number, item in enumerate(follow(found.items))]
            manifest = Manifest(
                assignment=summary.assignment,
                files=sorted(packed, key=lambda own: own.path),
                folders=sorted(found.folders),
                sources=found.sources,
                environment=summary.environment,
                provenance=summary.provenance,
            )
            archive.writestr(_entry(MANIFEST), json_text(manifest))
        if problem := manifest.problem(part.stat().st_size):
            raise ArchiveError(f"{file}: could not be opened again: {problem}. Archive the download as a zip.")
        sync(part)  # who has an archive may delete all else
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _add(archive: zipfile.ZipFile, number: int, path: str, content: Path | bytes) -> Packed:
    """Add a file chunk by chunk; a name that not every tool takes has a number in the archive instead."""
    plain = path.isprintable() and "\\" not in path and len(path) <= MAX_NAME
    name = path if plain else f"{SUBMISSIONS}/odd-{number}"
    digest, size = hashlib.sha256(), 0
    with _opened(content) as file:
        large = isinstance(content, Path) and os.fstat(file.fileno()).st_size >= LARGE
        with archive.open(_entry(name), "w", force_zip64=large) as entry:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
                entry.write(chunk)
    return Packed(path=path, size=size, sha256=digest.hexdigest(), entry="" if plain else name)


def _opened(content: Path | bytes) -> IO[bytes]:
    return open_regular(content, follow=True) if isinstance(content, Path) else io.BytesIO(content)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
