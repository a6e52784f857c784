"""``grader return``: returns pages to students, through a platform or by mail."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.export import PLAIN, AcceptDrops, AcceptStale, AssignmentId, Prepared, prepared
from grader.core.cli.report import Handout, write_pages
from grader.core.cli.terminal import (
    EXIT_GRADER_ERROR,
    Partial,
    chosen,
    ending,
    fail,
    graded_folder,
    language_of,
    say,
    warn,
)
from grader.core.export.drops import remember
from grader.core.export.rows import grouped
from grader.core.export.table import written
from grader.core.intake.reading_process import Reader
from grader.core.results.database import opened
from grader.core.results.files import write_text, write_zip
from grader.core.results.report import Report
from grader.core.results.views import in_language
from grader.followup.submissions import Submissions, candidates_of

from .collect import ABSENT, MAIL, WAYS, Back, collected, comment

NEXT = {
    "canvas": "in Canvas, gradebook > Upload Submissions takes the zip",
    "moodle": "in Moodle, Upload multiple feedback files in a zip",
    "mail": "a mail merge with mail.csv",
}
MAIL_COLUMNS = ("email", "name", "subject", "message", "attachment")


def return_feedback(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    to: Annotated[str, typer.Option(help="canvas, moodle or mail.")],
    folder: Annotated[Path | None, typer.Option("--out", help="Output folder. Default: DIR.")] = None,
    template: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Downloaded gradebook or worksheet: compared, and filled in as well."),
    ] = None,
    assignment_id: AssignmentId = "",
    submissions: Submissions = None,
    accept_drops: AcceptDrops = False,
    accept_stale: AcceptStale = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Proceed even if some students get no page or no grade.")
    ] = False,
    partial: Partial = False,
    handout: Handout = "",
    lang: Annotated[str, typer.Option(help="Language of pages and mails: en or zh. Default: the locale.")] = "",
) -> None:
    """Write every student's page, and pack the pages for Canvas, Moodle or a mail program.

    With --template, it also writes the grades to upload, as export does.
    """
    if to not in WAYS:
        fail(f"--to {to}: not a destination. Choose one of {', '.join(WAYS)}.")
    if to == MAIL and template:
        fail("--template: mail has no gradebook. Omit it, or choose canvas or moodle.")
    language, place = language_of(lang), folder or out

    def told(report: Report) -> str:
        return comment(in_language(report, chosen(), language), chosen().rubric, language)

    with ending(place, advice=" Nothing more was written."):
        with Reader() as reader:
            candidates = candidates_of(out, submissions, reader) if to != MAIL else {}
        content = template.read_bytes() if template else None
        with opened(graded_folder(out)) as ledger:
            file, format_ = (place / f"{to}.csv", None) if template else (None, PLAIN)
            ready = prepared(out, to, ledger, content, assignment_id, file, format_, told, partial, language)

            def back(read: Callable[[Path], bytes]) -> Back:
                students = out / "html/students"
                return collected(ready.made.rows, to, students, read, candidates, chosen().rubric, language)

            names_alone = back(lambda _: b"")  # before a page is written, a person may have to look
            _preflight(ready, names_alone, accept_drops, accept_blanks, accept_stale, graded=template is not None)
            write_pages(ready.known, out / "html", language, handout)
            place.mkdir(parents=True, exist_ok=True)
            _write(to, place, back(Path.read_bytes), ready, ledger, graded=template is not None or to == MAIL)


def _preflight(
    ready: Prepared, back: Back, accept_drops: bool, accept_blanks: bool, accept_stale: bool, graded: bool
) -> None:
    """Print what staff should know; end the command if someone has to check first."""
    ready.say()
    for line in grouped("would get no feedback", back.without):
        warn(line)
    none = f"{len(back.without)} would get no feedback"
    ungraded = sum(bool(row.blank) for row in ready.made.rows)
    counts = f"{ungraded} without a grade, {ready.lost} grades would be blank, {len(ready.lower)} would drop, {none}"
    warn(f"{len(ready.made.rows)} students: {counts}")
    look = [text for text, _ in ready.problems(accept_drops, accept_blanks, accept_stale, graded)]
    missing = sum(why != ABSENT for why, _ in back.without)
    if missing and not accept_blanks:
        look.append(f"students who would get no feedback: {missing} (--accept-blanks returns the others)")
    if not look and not (back.files or back.letters):
        look.append("no student would get a page")
    if look:
        fail(f"needs attention: {'; '.join(look)}. Nothing was written.", EXIT_GRADER_ERROR)


def _write(to: str, place: Path, back: Back, ready: Prepared, ledger: sqlite3.Connection, graded: bool) -> None:
    """Write the files, and remember which grades were told."""
    if to == MAIL:
        paths = [place / "mail.csv"]
        write_text(paths[0], written([MAIL_COLUMNS, *back.letters]))
    else:
        paths = [place / f"{to}-feedback.zip"]
        write_zip(back.files, paths[0])
        for name, text in ready.made.files.items() if graded else ():
            paths.append(place / name)
            write_text(paths[-1], text)
    if graded:
        remember(ledger, ready.made.rows, to)
    grades = f"{ready.count} grades and " if graded and to != MAIL else ""
    pages = len(back.letters) or len(back.files)
    say(f"{grades}{pages} pages of {len(ready.made.rows)} students for {to}: {', '.join(map(str, paths))}")
    upload = f"; import {paths[1].name} there as well" if len(paths) > 1 else ""
    say(f"Next: {NEXT[to]}{upload}")


PANEL = "Every day"
COMMANDS = {"return": return_feedback}
