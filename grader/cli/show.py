"""``grader show``: results in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..results.language import in_language
from ..results.report import Report
from ..results.statistics import class_statistics, entry
from .console import print_class, print_report, print_statistics
from .terminal import OUT, find, language_of, read_class, read_written


def show(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="ID", help="One submission, or a name; all, if left out.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh. Default: the locale.")] = "",
) -> None:
    """Show the class and its statistics, or one submission with every lost point explained, in the terminal."""
    rubric, language = ASSIGNMENT.rubric, language_of(lang)
    if identifier:
        report = read_written(out / find(out, identifier) / "report.json", Report)
        print_report(in_language(report, ASSIGNMENT, language), rubric, language, OUT)
        return
    lines = read_class(out)
    entries = [entry(read_written(out / line.id / "report.json", Report), line.practice) for line in lines]
    print_class(entries, OUT)
    print_statistics(class_statistics(entries), rubric, language, OUT)
