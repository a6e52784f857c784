"""``grader export``: grades as platforms take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..export.drops import Drop, drops, remember
from ..export.formats import FORMATS
from ..export.formats import export as export_as
from ..export.rows import ExportError, Row, refusals
from ..results.database import LedgerError, opened
from ..results.report import Report, Summary, write_text
from .terminal import ERR, EXIT_BAD_INPUT, EXIT_GRADER_ERROR, OUT, fail, read_written


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    file: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: in DIR.")] = None,
    template: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Canvas gradebook or Moodle worksheet, as downloaded.")
    ] = None,
    assignment_id: Annotated[str, typer.Option(help="Canvas: the last number in the assignment's address.")] = "",
    accept_drops: Annotated[
        bool, typer.Option("--accept-drops", help="Although some grades are lower than they were.")
    ] = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Although some grades have no place in the file.")
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
            lower = drops(ledger, made.rows, to, rubric.policy)
            _say([*map(str, lower), *made.remarks, *refusals(made.rows)])
            _refuse(lower, made.rows, accept_drops, accept_blanks)
            ((name, text),) = made.files.items()
            path = file or out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            remember(ledger, made.rows, to)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}.")
    OUT.print(f"{len(reports)} reports for {to}: {path}", markup=False, highlight=False, soft_wrap=True)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        ERR.print(line, markup=False, highlight=False, soft_wrap=True)


def _refuse(lower: Sequence[Drop], rows: Sequence[Row], accept_drops: bool, accept_blanks: bool) -> None:
    """End the command if grades would go down or get lost, unless the options accept that."""
    blank = sum(bool(row.grade and row.refused) for row in rows)
    problems, code = [], EXIT_BAD_INPUT
    if lower and not accept_drops:
        problems.append(
            f"grades that are lower than they were: {len(lower)} (`grader diff OLD NEW` says why two gradings differ; "
            "--accept-drops exports them)"
        )
    if blank and not accept_blanks:
        problems.append(f"grades that would get lost: {blank} (--accept-blanks exports the others)")
        code = EXIT_GRADER_ERROR
    if problems:
        fail(f"{'; '.join(problems)}. Nothing was written.", code)
