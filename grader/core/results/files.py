"""Files that are written whole or not at all, and, where it matters, kept even through a power cut."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from .report import Record, Report, Summary, SummaryLine, first_problem, summary_line, write_json

MOMENT = (1980, 1, 1, 0, 0, 0)  # of every file in a zip, so that the same files give the same zip


def write_text(path: Path, text: str, mode: int = 0o644, lasting: bool = False) -> None:
    """Write text as :func:`write_bytes` does, in UTF-8."""
    write_bytes(path, text.encode(), mode, lasting)


def write_bytes(path: Path, data: bytes, mode: int = 0o644, lasting: bool = False) -> None:
    """Write a whole file or none: write a temporary file in the same folder, then rename it.

    The temporary name is new, and begins with a dot, as no submission's id does.

    Args:
        path: The file.
        data: Its content.
        mode: Who may read it.
        lasting: Whether to wait until the disk has it, so that not even a power cut undoes it: for what only people
            know, since all else can be made again.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    if lasting:
        _sync(path.parent)


def write_zip(files: Mapping[str, bytes], path: Path, top: str = "") -> None:
    """Write a zip whole or not at all; see :func:`zip_bytes`."""
    write_bytes(path, zip_bytes(files, top))


def zip_bytes(files: Mapping[str, bytes], top: str = "") -> bytes:
    """A zip with all files in the folder ``top``, or at the top if it is empty; scripts are executable."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{top}/{name}" if top else name, MOMENT)
            entry.external_attr = (0o755 if data.startswith(b"#!") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return buffer.getvalue()


def _sync(folder: Path) -> None:
    """Wait until the disk has the names of a folder's files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


SUMMARY = "summary.json"
ReadT = TypeVar("ReadT", Report, Summary)


class NotWritten(Exception):
    """A file of ``grade`` is missing or unusable; the message is one line that says which, and what to do."""


def read_written(path: Path, model: type[ReadT]) -> ReadT:
    """Read a file that an earlier command has written.

    Raises:
        NotWritten: If it cannot be read, or is not such a file.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}. Run grade first, and give an id that is in its summary.") from None
    except ValidationError as error:
        raise NotWritten(f"{path}: not a {model.__name__.lower()} of this grader ({first_problem(error)}).") from None


def read_lines(out: Path) -> list[SummaryLine]:
    """The submissions in the summary of the last run; after a run that was stopped, all that have a report.

    Raises:
        NotWritten: If there is no report, or a file is damaged.
    """
    if (out / SUMMARY).exists():
        return read_written(out / SUMMARY, Summary).submissions
    paths = sorted(out.glob("*/report.json"))
    if not paths:
        raise NotWritten(f"{out}: no report in it. Give the folder that grade --out wrote to.")
    return [summary_line(read_written(path, Report)) for path in paths]


SOURCES = "sources.json"


class Sources(Record):
    """What the last ``grade`` into a folder was given.

    Attributes:
        paths: Submissions, folders of them or exports, relative to the folder of reports: both may move together.
        every_attempt: Whether earlier attempts of the same students were graded as well.
        source: The value of ``--from``; None where it was found out.
        roster: The path of the roster; None where none was given.
    """

    paths: list[str]
    source: str | None = None
    roster: str | None = None
    every_attempt: bool = False


def note(
    out: Path, paths: Iterable[Path], source: str | None, roster: Path | None, every_attempt: bool = False
) -> None:
    """Note in a folder of reports where its submissions lie.

    Raises:
        OSError: If the file cannot be written.
    """
    here = os.path.abspath(out)
    relative = [os.path.relpath(path, here) for path in paths]
    kept = os.path.relpath(roster, here) if roster else None
    whole = Sources(paths=relative, source=source, roster=kept, every_attempt=every_attempt)
    write_json(out / SOURCES, whole)


def noted(out: Path) -> Sources | None:
    """What was noted, with absolute paths; None where nothing was, or the file is damaged."""
    try:
        found = Sources.model_validate_json((out / SOURCES).read_bytes())
    except (OSError, ValidationError):
        return None
    paths = [os.path.abspath(out / path) for path in found.paths]
    return found.model_copy(update={"paths": paths, "roster": found.roster and os.path.abspath(out / found.roster)})
