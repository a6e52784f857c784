"""``grader appeal``: regrades one submission in a scratch folder, shows the effect, and drafts a decision."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from grader.core.cli.grade import grade_waiting
from grader.core.cli.terminal import EXIT_GRADER_ERROR, chosen, ending, fail, find, language_of, read_graded, say
from grader.core.grades.graded import GradedClass
from grader.core.grades.people import listed
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import absent
from grader.core.intake.reading_process import Reader
from grader.core.messages import UserError
from grader.core.results.database import opened
from grader.core.results.report import PropertyReport, Report, SubmissionInfo, summary_line
from grader.core.results.written import read_report
from grader.core.run.class_run import Run
from grader.core.run.executors import LOCAL
from grader.core.settings import Settings
from grader.followup.difference import Cause, Difference
from grader.followup.submissions import Submissions, candidate_of, say_what_differs, settings_then
from grader.followup.terminal import changed, print_differences, word

from .alike import alike, causes_of
from .decide import As, Who, enter, read_decided
from .model import say as sentence

CHANGES = {Cause.TESTS, Cause.RUBRIC, Cause.POINTS, Cause.GRADER}  # of the grader, so that they concern everyone


def appeal(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="An id or a name, as for show.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Files to grade instead of the submission: a folder, a zip, or single files.",
        ),
    ] = None,
    submissions: Submissions = None,
    write: Annotated[bool, typer.Option("--write", help="Write the draft into DIR/decisions.toml.")] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the new reports in this folder. Default: discard them.")
    ] = None,
    request_s: Annotated[
        float | None, typer.Option(min=0.1, help="Time limit for a call, in seconds, if it was too slow.")
    ] = None,
    why: Annotated[str, typer.Option(help="The reason in the draft; the student sees it.")] = "",
    who: Who = "",
    grader: As = "",
    lang: Annotated[str, typer.Option(help="en or zh. Default: the locale.")] = "",
) -> None:
    """Regrade one submission in a scratch folder, show what changes and who else may be affected, and draft a decision.

    DIR is left unchanged unless --write is given.
    """
    language, identifier = language_of(lang), find(out, student)
    known = read_graded(out, quiet=True, note=False)
    before = known.as_graded(identifier)
    settings = _settings(out, before, request_s, language)
    with (
        ending(keep, EXIT_GRADER_ERROR, " Nothing was changed.", "stopped; nothing was changed."),
        _scratch(out, keep) as scratch,
        Reader() as reader,
    ):
        place = scratch / "reports"
        files = files or []
        submission = _given(out, submissions, before.submission, files, reader, scratch)
        if not files:
            say_what_differs(before, reader.read(submission))
        submission = replace(submission, id=identifier, origin=before.submission.origin)
        place.mkdir()
        with opened(place) as connection:
            run = Run(place, connection, [submission], settings, reader)
            grade_waiting(run, settings, LOCAL, 1)
            run.finish({})
        now = read_report(place, identifier)
        lines = [summary_line(now, line.practice) if line.id == identifier else line for line in known.lines]
        again = replace(known, lines=lines, as_graded=lambda name: now if name == identifier else known.as_graded(name))
        found = changed(known, again, identifier, language)
        if found is None:
            say(sentence(language, "same", id=identifier))
        else:
            print_differences([found], None, known.rubric, language)
            if less := losses(before, now):
                say(sentence(language, "lost", names=", ".join(less)))
        drafted = gains(known.report(identifier), now)
        _print_alike(known, before, found, language)
        if found and {reason.cause for reason in found.reasons} & CHANGES:
            say(sentence(language, "class", out=out))
        if keep:
            say(sentence(language, "kept", place=place))
    if now.status == "grader_error":
        fail(f"{identifier}: the grader failed on it: {now.reason}", EXIT_GRADER_ERROR)
    if not drafted:
        say(sentence(language, "nothing", out=out, id=identifier))
        return
    why = why or sentence(language, "why_files" if files else "why_regraded")
    if write:
        wanted = [{"student": identifier, "override": name, "points": points, "why": why} for name, points in drafted]
        enter(read_decided(out), wanted, who, grader)
        return
    say(sentence(language, "draft"), "bold")
    for name, points in drafted:
        what = ("--override", name, "--points", f"{points:g}", "--why", why)
        say(shlex.join(["grader", "decide", str(out), identifier, *what]))


def _given(
    out: Path, submissions: list[Path] | None, was: SubmissionInfo, files: Sequence[Path], reader: Reader, scratch: Path
) -> Candidate:
    """The submission to grade: as handed in, or with files in place of those of the same name, or a whole new one.

    Copies of single files are made in ``scratch``, an empty folder.

    Raises:
        UserError: If there is no such thing.
        OSError: If a file cannot be copied.
    """
    for path in files:
        if not path.exists():
            raise UserError(f"{path}: no such file or folder.")
    single = [path for path in files if path.is_file() and path.suffix in (".py", ".ipynb")]
    if files and not single:  # a folder or an archive
        if len(files) > 1:
            raise UserError(f"{files[1]}: a folder or zip is a whole submission; give only one.")
        return _only(files[0], reader)
    if len(single) < len(files):
        raise UserError("FILES: either one folder or zip, or single files; not both.")
    nothing = absent(was.origin)
    if not files:
        if nothing:
            raise UserError(f"{was.id}: submitted nothing. Give the files to grade.")
        return candidate_of(out, submissions, reader, was.id)
    sent, whole = scratch / "sent", scratch / "handed-in"
    sent.mkdir()
    for path in files:
        shutil.copyfile(path, sent / path.name)
    new = reader.read(_only(sent, reader))
    if new.reason is not None or not new.files:
        raise UserError(f"{', '.join(map(str, files))}: {new.reason or 'none of the required files'}")
    old = {} if nothing else reader.read(candidate_of(out, submissions, reader, was.id)).files
    for name, text in {**old, **new.files}.items():
        (whole / name).parent.mkdir(parents=True, exist_ok=True)
        (whole / name).write_text(text, encoding="utf-8", newline="")
    return Candidate(was.id, whole, expected=chosen().rubric.expected)


def _only(path: Path, reader: Reader) -> Candidate:
    """The only submission at a place."""
    found = reader.discover([path], None, (), chosen().rubric.expected)
    if len(found) > 1:
        raise UserError(f"{path}: contains {len(found)} submissions. Give the folder or zip of one student.")
    return found[0]


def gains(before: Report, now: Report) -> list[tuple[str, float]]:
    """The overrides that give the student what the new grading gained: a property, ``score`` or ``bonus``, and points.

    Properties that are only worth more by now are left out: that concerns everyone, and a regrade of the class does it.
    The report before has the points that people decided on.
    """
    if now.score is None or now.bonus is None:
        return []
    if before.status != "graded":
        return [("score", now.score), *([("bonus", now.bonus)] if now.bonus else [])]
    return [
        (result.id, points)
        for was, result in _changed(before, now)
        if (points := min(result.points, was.max_points)) > was.points
    ]


def losses(before: Report, now: Report) -> list[str]:
    """The properties for which the new grading gives less, although they are worth the same."""
    return [result.id for was, result in _changed(before, now) if result.points < was.points]


def _changed(before: Report, now: Report) -> Iterator[tuple[PropertyReport, PropertyReport]]:
    """Each property with another outcome than before: the old result and the new one."""
    known = before.properties
    for name, prop in now.properties.items():
        if name in known and prop.outcome is not known[name].outcome:
            yield known[name], prop


def _settings(out: Path, before: Report, request_s: float | None, language: str) -> Settings:
    """The settings of the first grading, so that nothing differs which need not."""
    then = replace(settings_then(out, before), language=language, command=before.provenance.command)
    if request_s is None:
        return then
    limits = replace(then.limits, request_s=request_s, submission_s=max(then.limits.submission_s, 10 * request_s))
    return replace(then, limits=limits, command=f"{then.command} --request-s {request_s:g}")


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


def _print_alike(known: GradedClass, before: Report, found: Difference | None, language: str) -> None:
    """Print who ended as the student did, in what changed; if nothing did, in whatever lost points."""
    props = before.properties
    lost = {name for name, prop in props.items() if prop.points < prop.max_points}
    concerned = {change.id for change in found.changes} if found else set()
    others = alike(before, concerned or lost, causes_of(known))
    for name, same in others.items():
        prop, rated = props[name], known.rubric.properties.get(name)
        title = rated.title[language] if rated else prop.title
        why = ", ".join(filter(None, (word(language, prop.outcome), prop.misconception)))
        say(sentence(language, "alike", count=len(same), title=title, why=why), "bold")
        say(f"  {listed(same)}")
    if not others:
        say(sentence(language, "nobody"))
