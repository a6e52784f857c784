"""What a person sees in the terminal: progress, tables, one-line errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from .results.outcome import Outcome

if TYPE_CHECKING:
    from .results.report import PropertyReport, Report, SummaryLine
    from .results.standing import Standing

T = TypeVar("T")
LINE_EVERY = 50

MARKS = {
    Outcome.PASSED: ("✓", "green"),
    Outcome.NOT_IMPLEMENTED: ("TODO", "yellow"),
    Outcome.GRADER_ERROR: ("!", "magenta"),
}


def track(reports: Iterable[Report], total: int, jobs: int, console: Console) -> Iterator[Report]:
    """Pass reports on while showing how far things are; one line for each where there is no terminal."""
    if not console.is_terminal:
        for number, report in enumerate(reports, 1):
            console.print(
                f"[{number}/{total}] {report.submission.id}: {describe(report)}", markup=False, highlight=False
            )
            yield report
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task(f"grading with {jobs} jobs", total=total, rate="")
        failed = 0
        for report in reports:
            failed += report.status != "graded"
            speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
            running = min(jobs, total - int(progress.tasks[0].completed) - 1)
            parts = [f"{running} running", f"{speed:.1f}/s" if speed else "", f"{failed} not graded" if failed else ""]
            progress.update(bar, advance=1, rate=", ".join(filter(None, parts)))
            yield report


def follow(results: Iterable[T], title: str, total: int, console: Console) -> Iterator[T]:
    """Pass results on while showing how far a round is; now and then a line where there is no terminal."""
    if not console.is_terminal:
        for number, result in enumerate(results, 1):
            if number % LINE_EVERY == 0 or number == total:
                console.print(f"[{number}/{total}] {title}", markup=False, highlight=False)
            yield result
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        yield from progress.track(results, total=total, description=title)


def describe(report: Report | SummaryLine) -> str:
    """The result in a few words."""
    if report.status == "unreadable":
        return f"unreadable: {report.reason}"
    if report.status == "grader_error":
        return "grader error; see its report"
    return f"{report.score:g}/{report.max_score:g}, bonus {report.bonus:g}/{report.max_bonus:g}"


def print_class(standings: Sequence[Standing], console: Console) -> None:
    """One row for each submission, one column for each task, and one for practice where there is any.

    Laid out here: rich's tables measure and wrap every cell, seconds for a large class.
    """
    tasks = next((own.tasks for own in standings if own.tasks), ())
    practised = ["practice"] * any(own.line.practice for own in standings)
    header = ["submission", *(f"{task.id} /{task.max_score:g}" for task in tasks), "score", "bonus", *practised]
    rows = [_cells(own, len(tasks)) for own in standings]
    widths = [max(map(cell_len, column)) for column in zip_longest(header, *rows, fillvalue="")]
    for row in (header, *rows):
        name, *numbers = row
        cells = [set_cell_size(name, widths[0]), *map(str.rjust, numbers, widths[1:])]
        console.out("  ".join(cells).rstrip(), style="bold" if row is header else None, highlight=False)


def _cells(own: Standing, tasks: int) -> list[str]:
    line = own.line
    practice = [f"{line.practice.points:g}"] if line.practice else []
    if line.status != "graded":
        return [line.id, *[""] * tasks, line.status, "", *practice]
    return [line.id, *(f"{task.score:g}" for task in own.tasks), f"{line.score:g}", f"{line.bonus:g}", *practice]


def print_report(report: Report, console: Console) -> None:
    """Everything about one submission: a line for each property, and what to do about those that lost points."""
    console.print(Text(f"{report.submission.id}: {describe(report)}", style="bold"))
    for notice in report.submission.notices:
        console.print(Text(f"  note: {notice}"))
    for task in report.tasks:
        console.print(Text(f"\n{task.title}  {task.score:g}/{task.max_score:g}", style="bold"))
        for prop in task.properties:
            _print_property(prop, console)


def _print_property(prop: PropertyReport, console: Console) -> None:
    mark, style = MARKS.get(prop.outcome, ("✗", "red"))
    line = Text.assemble("  ", (f"{mark:4}", style), f" {prop.points:>4g}/{prop.max_points:<3g} {prop.title}")
    console.print(line, soft_wrap=True)
    if prop.outcome is Outcome.PASSED:
        return
    console.print(Text(f"       {prop.hint}", style="italic"), soft_wrap=True)
    case = prop.simplest_case
    if case is not None and case.message and prop.outcome is not Outcome.NOT_IMPLEMENTED:
        message, *frames = case.message.splitlines()
        lines = [f"{prop.outcome}: {message}  ({case.id})", *frames]
        console.print(Text("\n".join(f"       {line}" for line in lines)), soft_wrap=True)
