"""``grader grade``: finds submissions and grades them."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.core.extras import extra, offers
from grader.core.grades.graded import DecisionError
from grader.core.grades.people import students
from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import FOLDERS, PLATFORMS
from grader.core.intake.origin import absent, clean
from grader.core.intake.reading_process import Reader
from grader.core.intake.roster import STRANGER, read_roster
from grader.core.intake.submission import Expected
from grader.core.results.database import opened
from grader.core.results.policy import days_late, undated
from grader.core.results.report import Practice, Report, summary_line
from grader.core.results.statistics import Entry
from grader.core.results.views import told
from grader.core.results.written import note, places
from grader.core.run.class_run import Run
from grader.core.run.executors import CHOICES, LOCAL, open_executor
from grader.core.run.schedule import grade_all
from grader.core.sandbox.limits import LAYERS, Level, Limits
from grader.core.settings import MOST_ON_GPUS, Settings, judges_at_once

from .export import next_step
from .show import late_terms, print_class
from .terminal import (
    EXIT_GRADER_ERROR,
    chosen,
    describe,
    ending,
    fail,
    follow,
    language_of,
    needed,
    prepare,
    say,
    warn,
)

SOURCES = (*PLATFORMS, FOLDERS)

# Two options that several commands share; each command describes its paths in its own words.
Source = Annotated[str | None, typer.Option("--from", help=f"Source of PATH: {', '.join(SOURCES)}. Default: detected.")]
Roster = Annotated[Path | None, typer.Option(metavar="CSV", help="Everyone expected to submit, by name, id or email.")]
advanced = partial(typer.Option, rich_help_panel="Advanced")
FULL = " Reports written so far are complete. Free disk space and run again."


LevelName = Literal["process", "seccomp", "landlock", "namespaces"]


def grade(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="A submission, a folder of them, or a zip.")],
    out: Annotated[Path, typer.Option(help="Output folder: OUT/<id>/report.json and OUT/summary.json.")],
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help=f"Judges to run in parallel. Default: one a core; with a GPU at most {MOST_ON_GPUS}."),
    ] = None,
    executor: Annotated[str, advanced(help=f"Where judges run: {CHOICES}.")] = LOCAL,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        advanced(help="auto adds a second device to the CPU: a GPU, or a simulated one."),
    ] = "auto",
    only: Annotated[str | None, typer.Option(metavar="TASK", help="Grade only one task, such as task1.")] = None,
    seed: Annotated[int, advanced(help="Seed of the generated inputs; use one for the whole class.")] = 0,
    source: Source = None,
    roster: Roster = None,
    notebooks: Annotated[
        Path | None, typer.Option(metavar="CSV", help="checks.csv of graded notebooks: adds practice points.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh. Default: the locale.")] = "",
    require_isolation: Annotated[LevelName, advanced(help="Refuse to grade under weaker isolation.")] = "process",
    without: Annotated[
        list[str] | None, advanced(help=f"Disable one of {', '.join(LAYERS)}, to see the effect.")
    ] = None,
    plain: Annotated[bool, advanced("--plain", help="A new process for each property; slower, same reports.")] = False,
    request_s: Annotated[float, advanced(min=0.1, help="Time limit for one call, in seconds.")] = Limits.request_s,
    submission_s: Annotated[
        float, advanced(min=1, help="Time limit for a submission, in seconds.")
    ] = Limits.submission_s,
    memory_mib: Annotated[int, advanced(min=64, help="Memory that student code may add, in MiB.")] = Limits.memory_mib,
    every_attempt: Annotated[
        bool, typer.Option("--every-attempt", help="Grade earlier attempts as well; decide sets which counts.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show which grades the current rubric would change; write nothing.")
    ] = False,
    replace_class: Annotated[
        bool, typer.Option("--replace", help="Leave out earlier submissions in OUT that are not in PATH.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Keep results of unchanged submissions, or regrade all.")
    ] = True,
) -> None:
    """Grade submissions; write a report for each, and a summary. Keeps results that are up to date."""
    rubric = chosen().rubric
    if unknown := ", ".join(sorted({*(without or ())} - {*LAYERS})):
        fail(f"--without {unknown}: no such layer. Choose one of {', '.join(LAYERS)}.")
    if only is not None and only not in (known := [task.id for task in rubric.tasks]):
        fail(f"--only {only}: no such task. Choose one of {', '.join(known)}.")
    settings = Settings(
        chosen(),
        device,
        only,
        seed,
        language_of(lang),
        limits=Limits(request_s=request_s, submission_s=submission_s, memory_mib=memory_mib),
        required_level=Level[require_isolation.upper()],
        without=tuple(without or ()),
        plain=plain,
        command=shlex.join(["grader", *sys.argv[1:]]),
    )
    practice = needed("notebook_points", "--notebooks").read_practice(notebooks, rubric.practice) if notebooks else {}
    with Reader() as reader:
        candidates = with_files(out, found(reader, paths, source, roster, every_attempt, out=out, apart=every_attempt))
        if dry_run:
            needed("diff", "--dry-run").print_preview(out, candidates, settings, reader)
            return
        prepare(out)
        run = None
        try:
            with ending(out, EXIT_GRADER_ERROR, FULL), opened(out) as connection:
                run = Run(out, connection, candidates, settings, reader, not resume, replace_class, every_attempt)
                note(out, paths, source, roster, every_attempt, replace_class, candidates)
                _say_what_is_known(run)
                if run.waiting:
                    grade_waiting(run, settings, executor, jobs or judges_at_once(device))
                entries = run.finish(practice)
        except KeyboardInterrupt:
            fail(f"stopped; {run.written if run else 0} of {len(candidates)} reports are in {out}.", 130)
        _show(out, run, entries, practice, settings.language)


def grade_waiting(run: Run, settings: Settings, executor: str, jobs: int) -> None:
    """Grade the submissions that are left; each report is written and entered in the ledger as it comes."""
    with (
        open_executor(executor, jobs) as pool,
        contextlib.closing(grade_all(run.submissions(), settings, pool)) as graded,
    ):
        if pool.notice:
            warn(pool.notice, "yellow")
        title = f"grading with {jobs} jobs"
        for _ in follow(map(run.save, graded), title, len(run.waiting), _told):
            pass


def _told(report: Report) -> str:
    """The result; the reason for a missing one is printed at the end."""
    return f"{report.submission.id}: {describe(report) if report.status == 'graded' else summary_line(report).shown}"


def _say_what_is_known(run: Run) -> None:
    if run.reasons and run.waiting:
        reasons = ", ".join(run.reasons)
        warn(f"earlier results were graded under different conditions ({reasons}) and are regraded")
    if run.kept:
        warn(f"{run.kept} of {len(run.candidates)} already graded and kept; --fresh regrades all")
    if run.shown_anew:
        warn(f"{run.shown_anew} reports updated to the current rubric and language; no code was run")
    if run.others:
        warn(f"{run.others} submissions of earlier runs stay in the class; --replace removes them")
    if run.outdated:
        warn(f"{run.outdated} of them have no result under the current conditions; grade them again as well", "yellow")
    for identifier in run.superseded:
        warn(f"{identifier}: left out, since the same students have another submission now; --every-attempt keeps both")
    for identifier in run.restored:
        warn(f"{identifier}: report.json had been edited or deleted; restored from the ledger")


def _show(out: Path, run: Run, entries: Sequence[Entry], practice: Mapping[str, Practice], language: str) -> None:
    """Show the table, and say what went wrong."""
    print_class(entries, language)
    for isolation in sorted({environment.isolation for environment in run.environments}):
        if not {"landlock", "namespaces"} & set(isolation.split("+")):
            more = "; `grader doctor` shows what is missing." if offers("doctor") else ""
            warn(f"isolation is only {isolation!r}{more}", "yellow")
    if (places := len(run.environments)) > 1:
        text = f"results come from {places} environments (see reports); --fresh regrades all in this one."
        warn(text, "yellow")
    graded, number = len(run.waiting), len(entries)
    rate = f" ({graded / run.duration_s:.1f}/s)" if graded else ""
    kept = f", {number - graded} of them kept," if number > graded else ""
    say(f"{number} submissions{kept} in {run.duration_s:.1f} s{rate}. Reports: {out}")
    lines, listed = [one.line for one in entries], {one.id for one in run.attention}
    for line in lines:
        if line.practice and line.practice.unsettled:
            unsettled = ", ".join(line.practice.unsettled)
            say(f"{line.id}: notebook checks never ran: {unsettled}")
    if missing := [str(student) for line in lines if absent(line.origin) for student in students(line.id, line.origin)]:
        say(f"{len(missing)} in the roster did not submit: {'; '.join(missing)}")
    if strangers := [one.id for one in run.candidates if STRANGER in one.notices]:
        say(f"{len(strangers)} not in the roster: {', '.join(strangers)}")
    if alone := sorted(practice.keys() - {line.id for line in lines}):
        say(f"notebooks only, no submission: {', '.join(alone)}")
    if unknown := sum(undated(chosen().rubric.policy, line.origin) for line in lines if line.status == "graded"):
        say(
            f"{unknown} of {len(lines)} may be late, but this cannot be determined, so [policy] deducts nothing. If "
            "submissions have times, set due in [policy]; for Moodle, pass the grading worksheet with --roster."
        )
    if late := sum(days_late(chosen().rubric.policy, line.origin) > 0 for line in lines):
        say(f"{late} late; {late_terms(chosen().rubric.policy, 'en')}")
    if run.attention:
        say(f"{len(listed)} for manual review:", "bold")
    alike: dict[str, list[str]] = {}
    for one in run.attention:
        text = told(one.text, one.parts, chosen(), language)
        alike.setdefault(f"{one.code}: {clean(text, len(text))}", []).append(one.id)
    for why, names in alike.items():
        say(f"{', '.join(names)}: {why}")
    reviewed = {one.text for one in run.attention}
    for text in (text for text in run.unsettled if text not in reviewed):
        say(text)
    if not run.mistake and not run.missing:
        review = run.attention and offers("decisions")
        say(f"Next: grader review {shlex.quote(str(out))}" if review else next_step(out, lines))
    if run.mistake:
        fail(f"{run.mistake} Everything is graded, but grades cannot be shown or exported until this is fixed.")
    if run.missing:
        fail(
            f"{run.missing} submissions of an earlier run, which was stopped, have no result. Grade them again, or "
            "leave them out with --replace. No summary was written."
        )
    if any(line.status == "grader_error" for line in lines):
        fail("the grader failed on some submissions; see the lines above.", EXIT_GRADER_ERROR)


def found(
    reader: Reader,
    paths: Sequence[Path],
    source: str | None,
    roster: Path | None,
    every_attempt: bool = False,
    expected: Expected | None = None,
    out: Path | None = None,
    apart: bool = False,
) -> list[Candidate]:
    """Every submission below the paths.

    Without a ``source``, it is found out which platform they come from; the expected files are those of the rubric,
    unless others are given. With ``every_attempt``, what students handed in earlier is taken, too. Submissions with
    reports in ``out`` keep their ids; ``apart``, those of the same names elsewhere get others.

    Raises:
        UserError: If they cannot be found, or the roster is none.
    """
    if source not in (None, *SOURCES):
        fail(f"--from {source}: not a source. Choose one of {', '.join(SOURCES)}.")
    listed = read_roster(roster) if roster else ()
    wanted = chosen().rubric.expected if expected is None else expected
    known = places(out) if out else {}
    candidates = reader.discover(paths, source, listed, wanted, every_attempt, known, apart)
    return moodle.with_lateness(candidates, roster) if roster and (moodle := extra("moodle")) else candidates


def with_files(out: Path, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """The candidates, with misnamed files renamed as decisions in a folder of reports say.

    A mistake in the decisions does not stop grading; it is reported when grades are shown or exported.
    """
    with contextlib.suppress(DecisionError):
        return decisions.with_files(out, candidates) if (decisions := extra("decisions")) else candidates
    return candidates
