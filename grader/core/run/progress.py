"""Progress of a run: a live bar in a terminal, and plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from grader.core.results.report import Report, SummaryLine

T = TypeVar("T")
LINE_EVERY = 50


def track(reports: Iterable[Report], total: int, jobs: int, console: Console) -> Iterator[Report]:
    """Pass reports on while a bar shows the progress; without a terminal, a line for each report."""
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
    """Pass results on while a bar shows the progress; without a terminal, a line for every ``LINE_EVERY`` results."""
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
    """The result of a submission in a few words."""
    if report.status == "unreadable":
        return f"unreadable: {report.reason}"
    if report.status == "grader_error":
        return "grader error; see its report"
    return f"{report.score:g}/{report.max_score:g}, bonus {report.bonus:g}/{report.max_bonus:g}"
