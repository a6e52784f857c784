"""The command line, nothing else."""

from __future__ import annotations

import contextlib
import locale
import os
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from .assignment import LANGUAGES, load_rubric
from .console import class_table, describe, follow, print_report, track
from .export.formats import FORMATS
from .export.formats import export as export_as
from .export.rows import ExportError
from .intake.discover import FOLDERS, PLATFORMS, IntakeError, discover
from .intake.roster import RosterError, read_roster
from .results.practice import PracticeError, read_practice
from .results.report import Practice, Report, Summary, first_problem, summary_line, with_origin, write_json, write_text
from .sandbox.levels import Level
from .sandbox.limits import Limits
from .schedule import GradingFailed, grade_all
from .settings import CannotGrade, Settings

RELEASED = "course/release/position"  # where nbgrader puts the notebooks that students get
EXIT_BAD_INPUT = 2
EXIT_GRADER_ERROR = 3
SOURCES = (*PLATFORMS, FOLDERS)
ReadT = TypeVar("ReadT", Report, Summary)

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Grades submissions of the assignment.")
OUT = Console()
ERR = Console(stderr=True)


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


def fail(message: str, code: int = EXIT_BAD_INPUT) -> NoReturn:
    """End the command with one line."""
    ERR.print(f"grader: {message}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


@app.callback()
def main() -> None:
    """Grades submissions of the assignment."""


@app.command()
def grade(
    paths: Annotated[list[Path], typer.Argument(help="A submission, a folder of submissions, or a zip.")],
    out: Annotated[Path, typer.Option(help="Where the reports go: OUT/<id>/report.json and OUT/summary.json.")],
    jobs: Annotated[int, typer.Option(min=1, help="Judges at a time.")] = os.cpu_count() or 1,
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
    if source not in (None, *SOURCES):
        fail(f"--from {source}: not a source. Choose one of {', '.join(SOURCES)}.")
    try:
        candidates = discover(paths, source, read_roster(roster) if roster else ())
    except (IntakeError, RosterError) as error:
        fail(str(error))
    origins = {candidate.id: candidate.origin for candidate in candidates}
    limits = Limits(request_s=request_s, submission_s=submission_s, memory_mib=memory_mib)
    level, left_out = Level[require_isolation.name], tuple(map(str, without or ()))
    settings = replace(_settings(device, only, seed, lang), limits=limits, required_level=level, without=left_out)
    try:
        practice = read_practice(notebooks, load_rubric().practice) if notebooks else {}
    except PracticeError as error:
        fail(f"--notebooks {error}")
    _prepare(out)
    started, clock = datetime.now(UTC), time.monotonic()
    reports: list[Report] = []
    try:
        with contextlib.closing(grade_all(candidates, settings, jobs)) as graded:
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
    language = lang or ("zh" if (locale.getlocale()[0] or "").startswith(("zh", "Chinese")) else "en")
    if language not in LANGUAGES:
        fail(f"--lang {lang}: not a language of the rubric. Choose one of {', '.join(LANGUAGES)}.")
    command = shlex.join(["grader", *sys.argv[1:]])
    return Settings(str(device), only, seed, language, command=command)


def _prepare(out: Path) -> None:
    """Make the output folder, and see that it can be written to before any work is done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        fail(f"--out {out}: {error.strerror}. Choose a folder that you can write to.")


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
    OUT.print(class_table(reports, practice))
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


@app.command()
def show(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    identifier: Annotated[str | None, typer.Argument(metavar="ID", help="One submission; all, if left out.")] = None,
) -> None:
    """Show the class, or one submission, in the terminal."""
    if identifier:
        print_report(_read(out / identifier / "report.json", Report), OUT)
        return
    reports = [_read(path, Report) for path in sorted(out.glob("*/report.json"))]
    if not reports:
        fail(f"{out}: no report in it. Give the folder that grade --out wrote to.")
    OUT.print(class_table(reports))


@app.command()
def doctor() -> None:
    """Say what this machine offers for grading, and what to do about what it lacks."""
    from .doctor import examine  # imports torch, which no other command needs in this process

    for finding in examine():
        mark = Text("✓", style="green") if finding.good else Text("✗", style="red")
        OUT.print(Text.assemble(mark, f" {finding.subject:11} {finding.text}"), soft_wrap=True)
        if not finding.good:
            OUT.print(Text(f"              {finding.remedy}", style="italic"), soft_wrap=True)


@app.command()
def verify(
    out: Annotated[Path, typer.Option(help="Where the kill table goes.")] = Path("build/kill-table.md"),
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 2,
    jobs: Annotated[int, typer.Option(min=1, help="Judges at a time.")] = os.cpu_count() or 1,
) -> None:
    """Let the grader prove itself on work and on attacks whose truth is known, and write the kill table."""
    from .verify import Attempt, JudgeDied, Verdict, judged, page, rounds, summary  # imports torch

    _prepare(out.parent)
    verdicts: list[Verdict] = []
    attempts: list[Attempt] = []
    try:
        for round_ in rounds(range(seeds)):
            for result in follow(judged(round_, jobs), round_.title, len(round_.items), ERR):
                if result.problem:
                    OUT.print(Text(f"✗ {result.label}: {result.problem}", style="red"), soft_wrap=True)
                if isinstance(result, Verdict):
                    verdicts.append(result)
                else:
                    attempts.append(result)
    except KeyboardInterrupt:
        fail("stopped; nothing was written.", 130)
    except (CannotGrade, JudgeDied) as error:
        fail(str(error), EXIT_GRADER_ERROR)
    out.write_text(page(verdicts, attempts), encoding="utf-8")
    for line in summary(verdicts, attempts):
        OUT.print(line, highlight=False, soft_wrap=True)
    OUT.print(f"Kill table: {out}", highlight=False, soft_wrap=True)
    if any(verdict.problem for verdict in verdicts) or any(attempt.problem for attempt in attempts):
        raise typer.Exit(EXIT_GRADER_ERROR)


@app.command()
def release(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the bundle goes: a zip, and a git repository.")],
    handout: Annotated[Path, typer.Option(help="What `make handout` made.")] = Path("build/handout"),
    notebooks: Annotated[Path, typer.Option(help="What `make notebooks` made.")] = Path("build/notebooks"),
) -> None:
    """Write what students receive; refused, with the place, if anything is in it that would give a solution away."""
    from .release.bundle import ReleaseRefused, bundle
    from .release.write import write_repository, write_zip

    _prepare(out)
    name = load_rubric().id
    try:
        files = bundle({"handout": handout, **{f"notebooks/{lang}": notebooks / lang / RELEASED for lang in LANGUAGES}})
    except ReleaseRefused as refusal:
        for line in str(refusal).splitlines():
            ERR.print(line, markup=False, highlight=False, soft_wrap=True)
        fail("nothing was released.")
    write_zip(files, out / f"{name}.zip", name)
    try:
        commit = write_repository(files, out / name)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{out / name}: git failed ({getattr(error, 'stderr', '') or error}). The zip beside it is whole.", 3)
    OUT.print(
        f"{len(files)} files: {out / name}.zip, and the repository {out / name} (commit {commit[:10]}).",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
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
    lines = _read(out / "summary.json", Summary).submissions  # of an earlier run, other reports may lie there too
    reports = [_read(out / line.id / "report.json", Report) for line in lines]
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


@app.command()
def gradescope(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The zip to write; a folder gets autograder.zip.")],
) -> None:
    """Write the autograder that Gradescope takes: its set-up, the grader and the reference, in a zip."""
    from .release.autograder import autograder
    from .release.write import write_zip

    path = out if out.suffix == ".zip" else out / "autograder.zip"
    _prepare(path.parent)
    files = autograder()
    write_zip(files, path)
    OUT.print(f"{len(files)} files: {path}", markup=False, highlight=False, soft_wrap=True)


def _read(path: Path, model: type[ReadT]) -> ReadT:
    """A file that an earlier command has written."""
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        fail(f"{path}: {error.strerror}. Run grade first, and give an id that is in its summary.")
    except ValidationError as error:
        fail(f"{path}: not a {model.__name__.lower()} of this grader ({first_problem(error)}).")
