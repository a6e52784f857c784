"""``grader appeal``: regrades one submission in a scratch folder and shows the effect."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from grader.core.cli.decided import read_decided
from grader.core.cli.differences import graded, print_differences
from grader.core.cli.grade import grade_waiting
from grader.core.cli.submissions import Submissions, candidates_of, say_what_differs, settings_then
from grader.core.cli.terminal import EXIT_GRADER_ERROR, chosen, ending, fail, find, language_of, say
from grader.core.grades.decided import DecidedClass
from grader.core.grades.people import listed
from grader.core.intake.candidate import Candidate
from grader.core.intake.reader import Reader
from grader.core.results.database import LedgerError
from grader.core.results.difference import Cause, Difference, Reason, difference, in_order
from grader.core.results.report import Report
from grader.core.run.class_run import begun
from grader.core.run.executors import LOCAL
from grader.core.run.schedule import GradingFailed
from grader.core.settings import CannotGrade, Settings
from grader.extras.decisions.alike import UNGRADED, alike
from grader.extras.decisions.decide import enter

from .draft import Override, gains, losses
from .files import AppealError, given
from .words import sentence

UNCHANGED = " Nothing was changed."
CHANGES = {Cause.TESTS, Cause.RUBRIC, Cause.POINTS, Cause.GRADER}  # of the grader, so that they concern everyone


def appeal(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="An id or a name, as for show.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILES]",
            help="Files to grade instead of the submission: a folder, a zip, or single files.",
        ),
    ] = None,
    submissions: Submissions = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also regrade submissions with the same outcome; name those that change.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the draft into DIR/decisions.toml.")] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the new reports in this folder. Default: discard them.")
    ] = None,
    request_s: Annotated[
        float | None, typer.Option(min=0.1, help="Time limit for a call, in seconds, if it was too slow.")
    ] = None,
    why: Annotated[str, typer.Option(help="The reason in the draft; the student sees it.")] = "",
    who: Annotated[str, typer.Option(help="Who decides, with --write. Default: your account name.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Judges to run in parallel, with --check.")] = os.cpu_count() or 1,
    lang: Annotated[str, typer.Option(help="en or zh. Default: the locale.")] = "",
) -> None:
    """Regrade one submission in a scratch folder, show what changes and who else may be affected, and draft a decision.

    DIR is left unchanged unless --write is given.
    """
    language, identifier = language_of(lang), find(out, student)
    known = read_decided(out, quiet=True, note=False)
    before = known.as_graded(identifier)
    settings = _settings(out, before, request_s, language)
    try:
        with (
            ending(keep, AppealError, CannotGrade, LedgerError, code=EXIT_GRADER_ERROR, advice=UNCHANGED),
            _scratch(out, keep) as scratch,
            Reader() as reader,
        ):
            everyone = candidates_of(out, submissions, reader) if not _whole(files) or check else {}
            own = given(identifier, files or [], everyone.get(identifier), reader, chosen().rubric.expected, scratch)
            if not files:
                say_what_differs(before, reader.read(own))
            own = replace(own, id=identifier, origin=before.submission.origin)
            place = scratch / "reports"
            (now,) = _graded([own], place, settings, reader, jobs)
            found = _difference(known, now)
            _print_own(found, before, now, language)
            drafted = gains(known.report(identifier), now)
            others = _alike(known, before, found)
            _print_alike(others, known, before, language)
            if check and others:
                _check(known, [own], others, everyone, place, settings, reader, jobs, language)
            elif others:
                say(sentence(language, "unchecked"))
            if found and {reason.cause for reason in _reasons(found)} & CHANGES:
                say(sentence(language, "class", out=out))
            if keep:
                say(sentence(language, "kept", place=place))
    except KeyboardInterrupt:
        fail("stopped; nothing was changed.", 130)
    except GradingFailed as error:
        fail(str(error), EXIT_GRADER_ERROR)
    if now.status == "grader_error":
        fail(f"{identifier}: the grader failed on it: {now.reason}", EXIT_GRADER_ERROR)
    _draft(out, identifier, drafted, why, bool(files), language, who if write else None)


def _settings(out: Path, before: Report, request_s: float | None, language: str) -> Settings:
    """The settings of the first grading, so that nothing differs which need not."""
    then = replace(settings_then(out, before), language=language, command=before.provenance.command)
    if request_s is None:
        return then
    limits = replace(then.limits, request_s=request_s, submission_s=max(then.limits.submission_s, 10 * request_s))
    return replace(then, limits=limits, command=f"{then.command} --request-s {request_s:g}")


def _whole(files: Sequence[Path] | None) -> bool:
    """Whether the files are a whole submission, so that nothing of the old one is needed."""
    return bool(files) and all(path.is_dir() or path.suffix not in (".py", ".ipynb") for path in files or ())


@contextlib.contextmanager
def _scratch(out: Path, keep: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards, or one that is kept."""
    if keep is None:
        with TemporaryDirectory(prefix="grader-appeal-") as folder:
            yield Path(folder)
        return
    if keep.resolve().is_relative_to(out.resolve()):
        fail(f"--keep {keep}: inside the class folder, which must not change. Choose another folder.")
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        fail(f"--keep {keep}: already exists. Choose a folder that does not exist yet.")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _graded(own: Sequence[Candidate], place: Path, settings: Settings, reader: Reader, jobs: int) -> list[Report]:
    """Grade candidates in the scratch place; what is graded there already is kept."""
    place.mkdir(exist_ok=True)
    with begun(place, own, settings, fresh=False, reader=reader) as run:
        if run.waiting:
            grade_waiting(run, settings, LOCAL, jobs)
        run.finish({})
    return [Report.model_validate_json((place / one.id / "report.json").read_bytes()) for one in own]


def _difference(known: DecidedClass, report: Report) -> Difference | None:
    """The changes of the new grading for the submission's students, with the decisions in force."""
    identifier = report.submission.id
    now = known.graded_again({identifier: report})
    found = difference(known.report(identifier), now.report(identifier))
    line = next((own for own in now.lines if own.id == identifier), now.line(identifier))
    return graded(found, line, (known.grades, now.grades), known.rubric.policy.thresholds)


def _print_own(found: Difference | None, before: Report, now: Report, language: str) -> None:
    if found is None:
        say(sentence(language, "same", id=now.submission.id))
        return
    print_differences([found], None, chosen().rubric, language)
    if lost := losses(before, now):
        say(sentence(language, "lost", names=", ".join(lost)))


def _alike(known: DecidedClass, before: Report, found: Difference | None) -> dict[str, list[str]]:
    """Who ended as the student did, in what changed; if nothing did, in whatever lost points."""
    changed = {change.id for change in found.changes} if found else set()
    lost = {prop.id for task in before.tasks for prop in task.properties if prop.points < prop.max_points}
    return alike(before, changed or lost, (known.as_graded(line.id) for line in known.lines))


def _print_alike(found: Mapping[str, Sequence[str]], known: DecidedClass, before: Report, language: str) -> None:
    props = {prop.id: prop for task in before.tasks for prop in task.properties}
    for name, others in found.items():
        title, why = before.reason or "", str(before.status)
        if name != UNGRADED:
            prop, rated = props[name], known.rubric.properties.get(name)
            title = rated.title[language] if rated else prop.title
            why = ", ".join(filter(None, (prop.outcome, prop.misconception)))
        say(sentence(language, "alike", count=len(others), title=title, why=why), "bold")
        say(f"  {listed(others)}")
    if not found:
        say(sentence(language, "nobody"))


def _check(
    known: DecidedClass,
    own: list[Candidate],
    found: Mapping[str, Sequence[str]],
    everyone: dict[str, Candidate],
    place: Path,
    settings: Settings,
    reader: Reader,
    jobs: int,
    language: str,
) -> None:
    """Grade those who ended in the same way again, each with their own files, and print who moves."""
    others = list(dict.fromkeys(other for others in found.values() for other in others))
    there = [everyone[other] for other in others if other in everyone]
    reports = _graded([*own, *there], place, settings, reader, jobs)[len(own) :]
    differences = in_order(filter(None, (_difference(known, report) for report in reports)))
    say(sentence(language, "checked", count=len(reports), moved=len(differences)), "bold")
    print_differences(differences, None, known.rubric, language)


def _reasons(found: Difference) -> Iterator[Reason]:
    yield from found.reasons
    for change in found.changes:
        yield from change.reasons


def _draft(
    out: Path, identifier: str, drafted: Sequence[Override], why: str, files: bool, language: str, who: str | None
) -> None:
    """Print the decisions that would follow the new grading, or write them."""
    if not drafted:
        say(sentence(language, "nothing", out=out, id=identifier))
        return
    wanted = [
        {"student": identifier, "override": name, "points": points, "why": why or _why(name, files, language)}
        for name, points in drafted
    ]
    if who is not None:
        enter(read_decided(out), wanted, who)
        return
    say(sentence(language, "draft"), "bold")
    for one in wanted:
        command = ["grader", "decide", str(out), identifier, "--override", str(one["override"])]
        say(shlex.join([*command, "--points", f"{one['points']:g}", "--why", str(one["why"])]))


def _why(name: str, files: bool, language: str) -> str:
    """What the student reads, unless the assistant says something else."""
    whole = "_whole" if name in ("score", "bonus") else ""
    return sentence(language, f"why{whole}{'_files' if files else ''}")
