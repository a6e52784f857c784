"""``grader export``: grades as platforms take them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import load_rubric
from ..export.formats import FORMATS
from ..export.formats import export as export_as
from ..export.rows import ExportError
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
) -> None:
    """Write grades as a platform takes them, by the policy in the rubric. Who gets none is named."""
    if to not in FORMATS:
        fail(f"--to {to}: not a format. Choose one of {', '.join(FORMATS)}.")
    lines = read_written(
        out / "summary.json", Summary
    ).submissions  # of an earlier run, other reports may lie there too
    reports = [read_written(out / line.id / "report.json", Report) for line in lines]
    try:
        content = template.read_bytes() if template else None
        made = export_as(reports, to, load_rubric(), content, assignment_id)
        for name, text in made.files.items():
            path = (file or out) / name if file is None or to == "gradescope" else file
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
    except ExportError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}.")
    for line in made.remarks:
        ERR.print(line, markup=False, highlight=False, soft_wrap=True)
    where = path if len(made.files) == 1 else f"{len(made.files)} files in {file or out}"
    OUT.print(f"{len(reports)} reports for {to}: {where}", markup=False, highlight=False, soft_wrap=True)
