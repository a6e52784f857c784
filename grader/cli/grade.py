"""``grader grade``: the command that everything else is for."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import load_rubric
from ..console import class_table, describe, track
from ..executors.choose import CHOICES, LOCAL, open_executor
from ..results.practice import PracticeError, read_practice
from ..results.report import Practice, Report, Summary, summary_line, with_origin, write_json
from ..results.statistics import entry
from ..sandbox.levels import Level
from ..sandbox.limits import Limits
from ..schedule import GradingFailed, grade_all
from ..settings import CannotGrade, Settings
from .intake import SOURCES, found
from .terminal import ERR, EXIT_GRADER_ERROR, OUT, fail, language_of, prepare


class DeviceChoice(StrEnum):
    """Where every case runs."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class LevelChoice(StrEnum):
    """The levels of isolation, for the command line."""

    PROCESS = "process"
    SECCOMP = "seccomp"
    LANDLOCK = "landlock"
    NAMESPACES = "namespaces"


class Layer(StrEnum):
    """The layers of isolation, for the command line."""

    NAMESPACES = "namespaces"
    USER = "user"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"


def grade(
    paths: Annotated[list[Path], typer.Argument(help="A submission, a folder of submissions, or a zip.")],
    out: Annotated[Path, typer.Option(help="Where the reports go: OUT/<id>/report.json and OUT/summary.json.")],
    jobs: Annotated[int, typer.Option(min=1, help="Judges at a time.")] = os.cpu_count() or 1,
    executor: Annotated[str, typer.Option(help=f"Where judges run: {CHOICES}.")] = LOCAL,
    device: Annotated[
        DeviceChoice, typer.Option(help="auto takes a GPU beside the CPU if there is one.")
    ] = DeviceChoice.AUTO,
    only: Annotated[str | None, typer.Option(metavar="TASK", help="Grade one task, such as task1.")] = None,
    seed: Annotated[int, typer.Option(help="Varies the generated inputs; the same for a whole class.")] = 0,
    source: Annotated[
        str | None, typer.Option("--from", help=f"What PATH is: {', '.join(SOURCES)}. Default: found out.")
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Everyone who should have handed in, by name, id or address.")
    ] = None,
    notebooks: Annotated[
        Path | None, typer.Option(metavar="CSV", help="checks.csv of graded notebooks: adds practice points.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh. Default: the locale.")] = "",
    require_isolation: Annotated[LevelChoice, typer.Option(help="Refuse to grade with less.")] = LevelChoice.PROCESS,
    without: Annotated[list[Layer] | None, typer.Option(help="Leave a layer of isolation out, to see how.")] = None,
    request_s: Annotated[float, typer.Option(min=0.1, help="Seconds for one call.")] = Limits.request_s,
    submission_s: Annotated[float, typer.Option(min=1, help="Seconds for a whole submission.")] = Limits.submission_s,
    memory_mib: Annotated[int, typer.Option(min=64, help="MiB that student code may add.")] = Limits.memory_mib,
) -> None:
    """Grade submissions and write a report for each, and a summary."""
    candidates = found(paths, source, roster)
    origins = {candidate.id: candidate.origin for candidate in candidates}
    limits = Limits(request_s=request_s, submission_s=submission_s, memory_mib=memory_mib)
    level, left_out = Level[require_isolation.name], tuple(map(str, without or ()))
    settings = replace(_settings(device, only, seed, lang), limits=limits, required_level=level, without=left_out)
    try:
        practice = read_practice(notebooks, load_rubric().practice) if notebooks else {}
    except PracticeError as error:
        fail(f"--notebooks {error}")
    prepare(out)
    started, clock = datetime.now(UTC), time.monotonic()
    reports: list[Report] = []
    try:
        submissions = (candidate.read() for candidate in candidates)  # each when its turn comes
        with (
            open_executor(executor, jobs) as pool,
            contextlib.closing(grade_all(submissions, settings, pool)) as graded,
        ):
            if pool.notice:
                ERR.print(pool.notice, style="yellow", highlight=False, soft_wrap=True)
            for report in track(graded, len(candidates), jobs, ERR):
                report = with_origin(report, origins[report.submission.id])
                _write_report(out, report)
                reports.append(report)
    except KeyboardInterrupt:
        fail(f"stopped; {len(reports)} of {len(candidates)} reports are in {out}.", 130)
    except CannotGrade as error:
        fail(str(error))
    except GradingFailed as error:
        fail(str(error), EXIT_GRADER_ERROR)
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}. Finished reports are whole; free the place and run again.", 3)
    reports.sort(key=lambda report: report.submission.id)
    _finish(out, reports, practice, started, time.monotonic() - clock)


def _settings(device: DeviceChoice, only: str | None, seed: int, lang: str) -> Settings:
    rubric = load_rubric()
    if only is not None and only not in (known := [task.id for task in rubric.tasks]):
        fail(f"--only {only}: no such task. Choose one of {', '.join(known)}.")
    command = shlex.join(["grader", *sys.argv[1:]])
    return Settings(str(device), only, seed, language_of(lang), command=command)


def _write_report(out: Path, report: Report) -> None:
    folder = out / report.submission.id
    folder.mkdir(exist_ok=True)
    write_json(folder / "report.json", report)


def _finish(
    out: Path, reports: list[Report], practice: dict[str, Practice], started: datetime, duration_s: float
) -> None:
    """Write the summary, show the table, and say what went wrong."""
    first = reports[0]
    times = {"started_at": started.isoformat(timespec="seconds"), "duration_s": round(duration_s, 3)}
    summary = Summary(
        assignment=first.assignment,
        submissions=[summary_line(report, practice.get(report.submission.id)) for report in reports],
        environment=first.environment,
        provenance=first.provenance.model_copy(update=times),
    )
    write_json(out / "summary.json", summary)
    OUT.print(class_table([entry(report, practice.get(report.submission.id)) for report in reports]))
    if not {"landlock", "namespaces"} & set(first.environment.isolation.split("+")):
        ERR.print(
            f"isolation is only {first.environment.isolation!r}: `grader doctor` says what is missing.", style="yellow"
        )
    rate = len(reports) / duration_s
    OUT.print(f"{len(reports)} submissions in {duration_s:.1f} s ({rate:.1f}/s). Reports: {out}", highlight=False)
    for report in reports:
        if (own := practice.pop(report.submission.id, None)) and own.unsettled:
            OUT.print(f"{report.submission.id}: notebook checks never ran: {', '.join(own.unsettled)}", markup=False)
        if report.status != "graded":
            OUT.print(f"{report.submission.id}: {describe(report)}", markup=False, highlight=False, soft_wrap=True)
    if practice:
        OUT.print(f"notebooks only, no submission: {', '.join(sorted(practice))}", markup=False, highlight=False)
    if any(report.status == "grader_error" for report in reports):
        fail(
            "some submissions could not be graded through no fault of their own; see the lines above.",
            EXIT_GRADER_ERROR,
        )
