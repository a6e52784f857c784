"""``grader show``: results in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console import print_class, print_report
from ..results.report import Report
from ..results.standing import standing
from .terminal import OUT, fail, read_written


def show(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    identifier: Annotated[str | None, typer.Argument(metavar="ID", help="One submission; all, if left out.")] = None,
) -> None:
    """Show the class, or one submission, in the terminal."""
    if identifier:
        print_report(read_written(out / identifier / "report.json", Report), OUT)
        return
    reports = [read_written(path, Report) for path in sorted(out.glob("*/report.json"))]
    if not reports:
        fail(f"{out}: no report in it. Give the folder that grade --out wrote to.")
    print_class([standing(report) for report in reports], OUT)
