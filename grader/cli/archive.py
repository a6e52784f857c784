"""``grader archive``: a class in one file, for after the term."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..pool.progress import follow
from ..results.database import LedgerError
from ..results.report import Summary
from ..tools.archive.manifest import ArchiveError
from ..tools.archive.opening import open_archive
from ..tools.archive.write import contents, write_archive
from .submissions import Submissions, sources_of
from .terminal import ERR, MOST_NAMED, fail, read_written, say, warn


def archive(
    first: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to; the file, with --open.")
    ],
    second: Annotated[Path, typer.Argument(metavar="FILE", help="The zip to write; the folder to make, with --open.")],
    open_: Annotated[bool, typer.Option("--open", help="Open an archive: grader archive --open FILE DIR.")] = False,
    submissions: Submissions = None,
) -> None:
    """Put submissions, decisions, ledger, reports, rubric and versions into one file, or open one again.

    The same class gives the same bytes. Opening checks every file's digest; every command works on what it makes.
    """
    try:
        if open_:
            _open(first, second)
        else:
            _write(first, second, submissions)
    except KeyboardInterrupt:
        fail("stopped; nothing was written.", 130)
    except (ArchiveError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or second}: {error.strerror}. Nothing was written.")


def _write(out: Path, file: Path, submissions: list[Path] | None) -> None:
    summary = read_written(out / "summary.json", Summary)
    sources = sources_of(out, submissions)
    for path in filter(None, (*sources.paths, sources.roster)):
        if not Path(path).exists():
            fail(f"{path}: no longer there. Put it back, or give the place of the submissions with --submissions.")
    if file.resolve().is_relative_to(out.resolve()):
        fail(f"{file}: lies in the folder that is archived. Choose another place.")
    file.parent.mkdir(parents=True, exist_ok=True)
    found = contents(out, summary, sources, ASSIGNMENT.folder / "rubric.toml")
    write_archive(file, found, summary, lambda items: follow(items, "files", len(items), ERR))
    if summary.provenance.rubric_sha256 != ASSIGNMENT.rubric.sha256:
        warn(
            "the rubric here is not the one of the reports: the archive has the one from here. Check out their tag.",
            "yellow",
        )
    if found.left_out:
        warn(
            f"links or devices that were left out: {len(found.left_out)} ({', '.join(found.left_out[:MOST_NAMED])})",
            "yellow",
        )
    size = file.stat().st_size
    told = f"{len(summary.submissions)} submissions, {len(found.items)} files, {size / (1 << 20):.1f} MiB: {file}"
    say(told)


def _open(file: Path, folder: Path) -> None:
    if not file.is_file():
        fail(f"{file}: no such file. Give what archive wrote.")
    manifest = open_archive(file, folder, lambda files, total: follow(files, "files", total, ERR))
    if manifest.assignment != ASSIGNMENT.rubric.id:
        warn(f"it is of another assignment, {manifest.assignment}; this grader knows {ASSIGNMENT.rubric.id}.", "yellow")
    elif manifest.provenance.rubric_sha256 != ASSIGNMENT.rubric.sha256:
        warn("it was graded by another rubric than the one here; its own lies beside the reports.", "yellow")
    known = manifest.environment
    told = f"graded {manifest.provenance.started_at[:10]} by grader {manifest.provenance.grader_version}, "
    told += f"Python {known.python}, torch {known.torch}; every digest is right: {folder}"
    say(f"{len(manifest.files)} files, {told}")
