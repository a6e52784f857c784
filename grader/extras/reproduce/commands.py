"""``grader reproduce``: runs one failing case again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.terminal import EXIT_GRADER_ERROR, chosen, fail, find, language_of
from grader.core.intake.reading_process import Reader
from grader.core.results.outcome import NOTHING_LOST
from grader.core.results.report import PropertyReport, Report
from grader.core.results.views import in_language
from grader.core.results.written import read_report
from grader.followup.submissions import Submissions, candidate_of, say_what_differs, settings_then


def reproduce(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    student: Annotated[str, typer.Argument(metavar="STUDENT", help="An id or a name, as for show.")],
    wanted: Annotated[
        str | None,
        typer.Argument(metavar="PROPERTY", help="Property id, or part of it. Default: the first lost property."),
    ] = None,
    submissions: Submissions = None,
    pdb: Annotated[
        bool,
        typer.Option(
            "--pdb",
            help="Stop in the student's code. What you type runs in its sandbox, without access to your files, except "
            "at isolation level process. The submission can fake the debugger's output.",
        ),
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh.")] = "",
) -> None:
    """Rerun a student's simplest failing case: show its requests, the replies, and where it fails."""
    language = language_of(lang)
    identifier = find(out, student)
    before = read_report(out, identifier)
    report = in_language(before, chosen(), language)
    prop = _property(report, wanted)
    case = prop.simplest_case
    if case is None:
        fail(f"{identifier}: the report has no case of {prop.id}. Regrade it.", EXIT_GRADER_ERROR)
    with Reader() as reader:
        submission = reader.read(candidate_of(out, submissions, reader, identifier))
    if submission.reason is not None:
        fail(f"{identifier}: {submission.reason}")
    settings = settings_then(out, before)
    say_what_differs(before, submission)

    from grader.core.sandbox.handle import WorkerFailed  # these import torch

    from .bench import Bench
    from .shown import converse, show_case

    try:
        with closing(Bench(settings, debugger=pdb)) as bench:
            again = bench.run(submission.files, prop.id, case.id)
            if again is None:
                fail(f"{case.id}: {prop.id} no longer has this case; tests or devices have changed. Regrade it.")
            show_case(report, prop, case, again, submission.files, language)
            if pdb:
                converse(bench, submission.files, again)
    except WorkerFailed as error:
        fail(str(error))


def _property(report: Report, wanted: str | None) -> PropertyReport:
    """The property meant, which must have lost points; ends the command if there is none."""
    identifier = report.submission.id
    if report.status != "graded" and not report.tasks:
        fail(f"{identifier}: {report.status}, so no case was run. {report.reason or ''}".rstrip())
    lost = [prop for prop in report.properties.values() if prop.outcome not in NOTHING_LOST]
    names = ", ".join(prop.id for prop in lost)
    if not lost:
        fail(f"{identifier}: every property passed, so there is no failing case.")
    if wanted is None:
        return lost[0]
    parts = [prop for prop in report.properties.values() if wanted.casefold() in f"{prop.id} {prop.title}".casefold()]
    found = [report.properties[wanted]] if wanted in report.properties else parts
    if not found:
        fail(f"{wanted}: no such property. {identifier} lost {names}.")
    failing = [prop for prop in found if prop in lost]
    if not failing:
        fail(f"{found[0].id}: passed, so there is no failing case. {identifier} lost {names}.")
    if len(failing) > 1:
        fail(f"{wanted}: ambiguous: {', '.join(prop.id for prop in failing)}. Give more of the id.")
    return failing[0]


PANEL = "More"
COMMANDS = {"reproduce": reproduce}
