"""Opens an archive; names, sizes and digests are checked before anything takes its place, since nothing is believed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from ...intake.bundle import MAX_NAME, Files
from ...intake.submission import Unreadable
from ...intake.zips import zip_files
from ...results.report import first_problem, write_json
from ...results.sources import SOURCES, Sources
from .manifest import MANIFEST, REPORTS, RUBRIC, SUBMISSIONS, ArchiveError, Manifest, Packed

MAX_MANIFEST_BYTES = 64 << 20
MOST_NAMED = 10
Follow = Callable[[Iterable[Packed], int], Iterable[Packed]]


def open_archive(file: Path, folder: Path, follow: Follow) -> Manifest:
    """Open an archive as a folder of reports, whole or not at all.

    Args:
        file: The archive.
        folder: What it becomes; must be missing or empty.
        follow: Passes the files on, given how many there are, to show progress.

    Raises:
        ArchiveError: If it is damaged, no archive of this grader, or asks for what no archive needs.
        OSError: If a file cannot be read or written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArchiveError(f"{folder}: there is something already. Choose a folder that does not exist yet.")
    part = folder.with_name(f"{folder.name}.part")
    with file.open("rb") as opened:
        files, manifest = _listed(file, opened)
        _check(file, files, manifest)
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.mkdir(parents=True)
            _unpack(file, files, manifest, part, follow)
            write_json(part / SOURCES, manifest.sources)
            if folder.exists():
                folder.rmdir()
            os.replace(part, folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return manifest


def _listed(file: Path, opened: IO[bytes]) -> tuple[Files, Manifest]:
    """The files of an archive, each to be read with a limit, and what it says of them."""
    try:
        files = zip_files(opened)
        data = files[MANIFEST](MAX_MANIFEST_BYTES)
        if len(data) > MAX_MANIFEST_BYTES:
            raise Unreadable(f"{MANIFEST} is larger than {MAX_MANIFEST_BYTES >> 20} MiB")
        return files, Manifest.model_validate_json(data)
    except KeyError:
        raise ArchiveError(
            f"{file}: no archive of this grader (no {MANIFEST} in it). Give what archive wrote."
        ) from None
    except ValidationError as error:
        raise ArchiveError(f"{file}: {MANIFEST}: {first_problem(error)}. Give what archive wrote.") from None
    except (MemoryError, OSError):
        raise
    except Exception as error:  # zipfile raises whatever damaged or hostile bytes lead it to
        raise ArchiveError(f"{file}: damaged, or no zip ({error}). Take another copy of it.") from None


def _check(file: Path, files: Files, manifest: Manifest) -> None:
    """See that nothing would land elsewhere, or fill the disk, before anything is written."""
    paths = [own.path for own in manifest.files]
    odd = [path for path in [*paths, *manifest.folders, *_source_paths(manifest.sources)] if not _is_plain(path)]
    if odd:
        raise ArchiveError(f"{file}: refused, since it names {odd[0][:MAX_NAME]!r}, which lies outside of an archive.")
    names = [own.name for own in manifest.files]
    if unnamed := sorted(files.keys() - {MANIFEST, *names}):
        raise ArchiveError(f"{file}: refused, since {unnamed[0][:MAX_NAME]!r} is in it and not in its {MANIFEST}.")
    if problem := manifest.problem(file.stat().st_size):
        raise ArchiveError(f"{file}: refused: {problem}.")


def _source_paths(sources: Sources) -> list[str]:
    return [*sources.paths, *([sources.roster] if sources.roster else [])]


def _is_plain(path: str) -> bool:
    """Whether a path stays inside, and belongs into an archive."""
    parts = path.split("/")
    inside = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return (
        inside and len(path) <= MAX_NAME and (path == RUBRIC or (parts[0] in (REPORTS, SUBMISSIONS) and len(parts) > 1))
    )


def _unpack(file: Path, files: Files, manifest: Manifest, part: Path, follow: Follow) -> None:
    """Write every file whose digest is right; name those that are damaged."""
    damaged = []
    for own in follow(manifest.files, len(manifest.files)):
        data = _content(files, own)
        if data is None:
            damaged.append(own.path)
            continue
        place = part / own.path.removeprefix(f"{REPORTS}/")
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as new:  # another one may be there where a file system takes two names for one
            new.write(data)
    if damaged:
        more = f" and {len(damaged) - MOST_NAMED} more" if len(damaged) > MOST_NAMED else ""
        raise ArchiveError(
            f"{file}: damaged: {', '.join(damaged[:MOST_NAMED])}{more}. Nothing was opened; take another copy of it."
        )
    for own_folder in manifest.folders:
        (part / own_folder).mkdir(parents=True, exist_ok=True)


def _content(files: Files, own: Packed) -> bytes | None:
    """The bytes of a file; None if they are not those that were archived."""
    try:
        data = files[own.name](own.size)
    except (KeyError, Unreadable):
        return None
    return data if len(data) == own.size and hashlib.sha256(data).hexdigest() == own.sha256 else None
