"""What a person sees in the terminal: progress, tables, one-line errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .results.outcome import Outcome
from .results.repeats import repeats

if TYPE_CHECKING:
    from .assignment import Rubric
    from .results.report import PropertyReport, Report, SummaryLine
    from .results.standing import Standing
    from .results.statistics import ClassStatistics

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


def print_statistics(statistics: ClassStatistics, rubric: Rubric, language: str, console: Console) -> None:
    """What the class shows as a whole, as on the class page."""
    properties = Table("property", box=None, header_style="bold", padding=(0, 1))
    for name in ("worth", "pass", "of", "rate", "discrimination"):
        properties.add_column(name, justify="right")
    for prop in statistics.properties:
        rate = "-" if prop.rate is None else f"{prop.rate:.0%}"
        weight = "-" if prop.discrimination is None else f"{prop.discrimination:.2f}"
        properties.add_row(Text(prop.id), f"{prop.max_points:g}", f"{prop.passed}", f"{prop.assessed}", rate, weight)
    hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
    misconceptions = Table("held by", "misconception", box=None, header_style="bold", padding=(0, 1))
    for mistake in statistics.misconceptions:
        misconceptions.add_row(f"{mistake.submissions:7}", Text(hints.get(mistake.id, mistake.id)))
    for table in (properties, misconceptions) if statistics.misconceptions else (properties,):
        console.print()
        console.print(table)
    console.print()
    for line in _overview(statistics):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _overview(statistics: ClassStatistics) -> Iterator[str]:
    spreads = {"score": statistics.score, "bonus": statistics.bonus, "seconds": statistics.duration_s}
    for name, spread in spreads.items():
        if spread:
            ends = f"lowest {spread.lowest:.1f}, highest {spread.highest:.1f}"
            yield f"{name}: mean {spread.mean:.1f}, median {spread.median:.1f}, {ends}"
    counts = ", ".join(f"{one.outcome} {one.properties} ({one.submissions})" for one in statistics.outcomes)
    yield f"outcomes of properties (of so many submissions): {counts}"
    for (devices, isolation), count in statistics.environments.items():
        yield f"{count} on {devices}, isolated by {isolation}"


def print_report(report: Report, rubric: Rubric, language: str, console: Console) -> None:
    """Everything about one submission: a line for each property, and what to do about those that lost points."""
    like = {prop.id: first for first, others in repeats(report).items() for prop in others}
    console.print(Text(f"{report.submission.id}: {describe(report)}", style="bold"))
    for notice in report.submission.notices:
        console.print(Text(f"  note: {notice}"))
    for task in report.tasks:
        console.print(Text(f"\n{task.title}  {task.score:g}/{task.max_score:g}", style="bold"))
        for prop in task.properties:
            _print_property(prop, like.get(prop.id), console)
            if prop.outcome is not Outcome.PASSED and prop.id in rubric.properties:
                place = f"       read: handout/{rubric.handout_place(prop.id, language)}"
                console.print(Text(place, style="dim"), soft_wrap=True)


def _print_property(prop: PropertyReport, like: str | None, console: Console) -> None:
    mark, style = MARKS.get(prop.outcome, ("✗", "red"))
    line = Text.assemble("  ", (f"{mark:4}", style), f" {prop.points:>4g}/{prop.max_points:<3g} {prop.title}")
    console.print(line, soft_wrap=True)
    if prop.outcome is Outcome.PASSED:
        return
    if like:
        console.print(Text(f"       {prop.outcome}, like {like}"), soft_wrap=True)
        return
    mistake = f" (recognised: {prop.misconception})" if prop.misconception else ""
    console.print(Text(f"       {prop.hint}{mistake}", style="italic"), soft_wrap=True)
    if case := prop.evidence:
        message, *frames = case.message.splitlines()
        lines = [f"{prop.outcome}: {message}  ({case.id})", *frames]
        console.print(Text("\n".join(f"       {line}" for line in lines)), soft_wrap=True)
