"""``grader export`` and ``grader return``: grades and pages on their way to platforms and students.

Before anything is written, a person reads which grades would go down, and which would get lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..export.drops import Drop, drops, remember
from ..export.formats import FORMATS, NO_COMMENTS
from ..export.formats import export as export_as
from ..export.rows import Export, ExportError, refusals
from ..export.table import written
from ..intake.reader import Reader
from ..results.database import LedgerError, opened
from ..results.language import in_language
from ..results.report import Report, Summary, write_text
from ..rubric import Rubric
from ..tools.feedback.collect import ABSENT, MAIL, WAYS, Back, Collector
from ..tools.feedback.text import comment
from ..tools.release.write import write_zip
from .decided import read_decided
from .submissions import Submissions, candidates_of
from .terminal import EXIT_BAD_INPUT, EXIT_GRADER_ERROR, MOST_NAMED, fail, language_of, read_written, say, warn

PLAIN = "csv"  # the format that takes every grade, for grades that go into no file of a platform


Template = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Canvas gradebook or Moodle worksheet, as downloaded.")
]
AssignmentId = Annotated[str, typer.Option(help="Canvas: the last number in the assignment's address.")]
AcceptDrops = Annotated[bool, typer.Option("--accept-drops", help="Although some grades are lower than they were.")]
AcceptStale = Annotated[bool, typer.Option("--accept-stale", help="Although decisions should be looked at again.")]


@dataclass(frozen=True)
class Prepared:
    """Grades that are ready to be written.

    Attributes:
        reports: Of the class.
        made: The files, and a row for each student.
        lower: The grades that are lower than they were.
        unsettled: How many decisions should be looked at again.
    """

    reports: list[Report]
    made: Export
    lower: list[Drop]
    unsettled: int

    @property
    def lost(self) -> int:
        """How many grades have no place in the file."""
        return sum(bool(row.grade and row.refused) for row in self.made.rows)

    def say(self) -> None:
        """Print a line for each grade that is lower, blank or changed by the policy, or has no place in the file."""
        for line in (*map(str, self.lower), *self.made.remarks, *refusals(self.made.rows)):
            warn(line)

    def problems(self, accept_drops: bool, accept_blanks: bool, accept_stale: bool) -> list[tuple[str, int]]:
        """What has to be accepted first, each with the exit code that it asks for."""
        found = []
        if self.lower and not accept_drops:
            lower = (
                f"grades that are lower than they were: {len(self.lower)} (`grader diff OLD NEW` says why two gradings "
            )
            found.append((f"{lower}differ; --accept-drops exports them)", EXIT_BAD_INPUT))
        if self.lost and not accept_blanks:
            lost = f"grades that would get lost: {self.lost} (--accept-blanks exports the others)"
            found.append((lost, EXIT_GRADER_ERROR))
        if self.unsettled and not accept_stale:
            stale = f"decisions to be looked at again: {self.unsettled} (--accept-stale exports them as they are)"
            found.append((stale, EXIT_GRADER_ERROR))
        return found


def prepared(
    out: Path,
    to: str,
    rubric: Rubric,
    ledger: sqlite3.Connection,
    template: bytes | None,
    assignment_id: str,
    format_: str | None = None,
    comment: Callable[[Report], str] | None = None,
) -> Prepared:
    """Prepare the grades of a folder of reports, and compare them with what was told before.

    Args:
        out: The folder.
        to: Where the grades go; they are compared with what went there before.
        rubric: Has the policy.
        ledger: The opened ledger of the folder.
        template: A file that was downloaded from the platform.
        assignment_id: The number that the platform gives the assignment.
        format_: The format of the file; None for the one called ``to``.
        comment: What a student is told beside the grade; None if there is no comment.

    Raises:
        ExportError: If the platform would refuse the file.
    """
    # Read by id, since the folder may hold reports of earlier runs, too.
    lines = read_written(out / "summary.json", Summary).submissions
    known = read_decided(out, rubric, lines, ledger)
    reports = [known.report(line.id) for line in lines]
    told: Mapping[str, str] = {own.submission.id: comment(own) for own in reports} if comment else NO_COMMENTS
    made = export_as(reports, format_ or to, rubric, template, assignment_id, known.book, told)
    return Prepared(reports, made, drops(ledger, made.rows, to, rubric.policy), len(known.book.unsettled))


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    file: Annotated[Path | None, typer.Option("--out", help="The file to write. Default: in DIR.")] = None,
    template: Template = None,
    assignment_id: AssignmentId = "",
    accept_drops: AcceptDrops = False,
    accept_stale: AcceptStale = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Although some grades have no place in the file.")
    ] = False,
) -> None:
    """Write grades as a platform takes them, by the rubric's policy. Who gets none, or less than before, is named."""
    if to not in FORMATS:
        fail(f"--to {to}: not a format. Choose one of {', '.join(FORMATS)}.")
    try:
        content = template.read_bytes() if template else None
        with opened(out) as ledger:
            ready = prepared(out, to, ASSIGNMENT.rubric, ledger, content, assignment_id)
            ready.say()
            if problems := ready.problems(accept_drops, accept_blanks, accept_stale):
                texts, codes = zip(*problems, strict=True)
                fail(f"{'; '.join(texts)}. Nothing was written.", max(codes))
            ((name, text),) = ready.made.files.items()
            path = file or out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            remember(ledger, ready.made.rows, to)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}.")
    say(f"{len(ready.reports)} reports for {to}: {path}")


MAIL_COLUMNS = ("email", "name", "subject", "message", "attachment")


def return_feedback(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    to: Annotated[str, typer.Option(help="canvas, moodle or mail.")],
    pages: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where report wrote its pages. Default: DIR/html.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", help="The folder to write to. Default: DIR.")] = None,
    template: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Gradebook or worksheet, as downloaded: filled in, too, and compared."),
    ] = None,
    assignment_id: AssignmentId = "",
    submissions: Submissions = None,
    accept_drops: AcceptDrops = False,
    accept_stale: AcceptStale = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Although some students get no page, or no grade.")
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of comments and mails: en or zh. Default: the locale.")] = "",
) -> None:
    """Pack every student's page as Canvas, Moodle or a mail program takes it, and say first who would get none."""
    if to not in WAYS:
        fail(f"--to {to}: not a way back. Choose one of {', '.join(WAYS)}.")
    if to == MAIL and template:
        fail("--template: a mail has no gradebook. Leave it out, or choose canvas or moodle.")
    language, place = language_of(lang), folder or out

    def told(report: Report) -> str:
        return comment(in_language(report, ASSIGNMENT, language), ASSIGNMENT.rubric, language)

    try:
        with Reader() as reader:
            candidates = candidates_of(out, submissions, reader) if to != MAIL else {}
        content = template.read_bytes() if template else None
        with opened(out) as ledger:
            ready = prepared(
                out, to, ASSIGNMENT.rubric, ledger, content, assignment_id, None if template else PLAIN, told
            )
            students = (pages or out / "html") / "students"
            back = Collector(to, out, students, candidates, ASSIGNMENT.rubric, language).collect(ready.made.rows)
            _preflight(ready, back, accept_drops, accept_blanks, accept_stale)
            place.mkdir(parents=True, exist_ok=True)
            _write(to, place, back, ready, ledger, graded=template is not None or to == MAIL)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or place}: {error.strerror}. Nothing more was written.")


def _preflight(ready: Prepared, back: Back, accept_drops: bool, accept_blanks: bool, accept_stale: bool) -> None:
    """Say what a person should know; end the command if a person has to look first."""
    ready.say()
    for reason, names in back.without.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        warn(f"{len(names)} would get no feedback: {reason}")
        warn(f"  {', '.join(names[:MOST_NAMED])}{more}")
    none = sum(map(len, back.without.values()))
    counts = f"{ready.lost} would be blank, {len(ready.lower)} would drop, {none} would get no feedback"
    warn(f"{len(ready.made.rows)} students: {counts}")
    look = [text for text, _ in ready.problems(accept_drops, accept_blanks, accept_stale)]
    missing = sum(len(names) for reason, names in back.without.items() if reason != ABSENT)
    if missing and not accept_blanks:
        look.append(f"students who would get no feedback: {missing} (--accept-blanks returns the others)")
    if look:
        fail(f"a person has to look: {'; '.join(look)}. Nothing was written.", EXIT_GRADER_ERROR)


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
    count = len(back.letters) or len(back.files)
    say(f"{count} pages for {to}: {', '.join(map(str, paths))}")
