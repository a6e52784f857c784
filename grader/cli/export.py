"""``grader export``: grades as platforms take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..export.drops import Drop, drops, remember
from ..export.formats import FORMATS
from ..export.formats import export as export_as
from ..export.rows import ExportError
from ..results.database import LedgerError, opened
from ..results.report import Report, Summary, write_text
from .terminal import ERR, OUT, fail, read_written


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    file: Annotated[
        Path | None, typer.Option("--out", help="Where it goes; for gradescope, a folder. Default: DIR.")
    ] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Canvas gradebook or Moodle worksheet, as downloaded.")
    ] = None,
    assignment_id: Annotated[str, typer.Option(help="Canvas: the last number in the assignment's address.")] = "",
    accept_drops: Annotated[
        bool, typer.Option("--accept-drops", help="Although some grades are lower than they were.")
    ] = False,
) -> None:
    """Write grades as a platform takes them, by the rubric's policy. Who gets none, or less than before, is named."""
    if to not in FORMATS:
        fail(f"--to {to}: not a format. Choose one of {', '.join(FORMATS)}.")
    # Read by id, since the folder may hold reports of earlier runs, too.
    lines = read_written(out / "summary.json", Summary).submissions
    reports = [read_written(out / line.id / "report.json", Report) for line in lines]
    rubric = ASSIGNMENT.rubric
    try:
        content = template.read_bytes() if template else None
        made = export_as(reports, to, rubric, content, assignment_id)
        with opened(out) as ledger:
            _refuse_drops(drops(ledger, made.rows, to, rubric.policy), accept_drops)
            for name, text in made.files.items():
                path = (file or out) / name if file is None or to == "gradescope" else file
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, text)
            remember(ledger, made.rows, to)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}.")
    for line in made.remarks:
        ERR.print(line, markup=False, highlight=False, soft_wrap=True)
    where = path if len(made.files) == 1 else f"{len(made.files)} files in {file or out}"
    OUT.print(f"{len(reports)} reports for {to}: {where}", markup=False, highlight=False, soft_wrap=True)


def _refuse_drops(found: Sequence[Drop], accepted: bool) -> None:
    """Refuse to lower grades, and name the students, unless the person has accepted the drops."""
    for drop in found:
        ERR.print(str(drop), markup=False, highlight=False, soft_wrap=True)
    if found and not accepted:
        fail(
            f"grades that are lower than they were: {len(found)}; nothing was written. "
            "`grader diff OLD NEW` says why two gradings differ, and --accept-drops exports them."
        )
