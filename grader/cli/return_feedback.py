"""``grader return``: each student's page, in bulk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..export.drops import remember
from ..export.rows import ExportError, Row
from ..export.table import written
from ..intake.candidate import Candidate
from ..intake.reader import Reader
from ..results.database import LedgerError, opened
from ..results.language import in_language
from ..results.report import Report, write_text
from ..tools.feedback.platforms import for_canvas, for_moodle
from ..tools.feedback.text import comment, letter, subject
from ..tools.release.write import write_zip
from .preflight import PLAIN, Prepared, prepared, say
from .submissions import Submissions, candidates_of
from .terminal import EXIT_GRADER_ERROR, MOST_NAMED, OUT, fail, language_of

MAIL = "mail"
PLATFORMS = ("canvas", "moodle")
MAIL_COLUMNS = ("email", "name", "subject", "message", "attachment")
DECISIONS = "decisions.toml"  # what people decided stands on the pages
ABSENT = "nothing was handed in"  # which a person need not look at
OUTDATED = "a page that is older than the report; run `grader report` again"
Told = Callable[[Report], str]


@dataclass(frozen=True)
class Back:
    """What goes back to the class.

    Attributes:
        files: By name, for the zip of a platform.
        letters: Rows for a mail program.
        without: From a reason why something does not go back to those whom it concerns.
    """

    files: Mapping[str, bytes]
    letters: Sequence[Sequence[str]]
    without: Mapping[str, list[str]]


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
    assignment_id: Annotated[str, typer.Option(help="Canvas: the last number in the assignment's address.")] = "",
    submissions: Submissions = None,
    accept_drops: Annotated[
        bool, typer.Option("--accept-drops", help="Although some grades are lower than they were.")
    ] = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Although some students get no page, or no grade.")
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of comments and mails: en or zh. Default: the locale.")] = "",
) -> None:
    """Pack every student's page as Canvas, Moodle or a mail program takes it, and say first who would get none."""
    if to not in (*PLATFORMS, MAIL):
        fail(f"--to {to}: not a way back. Choose one of {', '.join((*PLATFORMS, MAIL))}.")
    if to == MAIL and template:
        fail("--template: a mail has no gradebook. Leave it out, or choose canvas or moodle.")
    language, place = language_of(lang), folder or out

    def told(report: Report) -> str:
        return comment(in_language(report, ASSIGNMENT, language), ASSIGNMENT.rubric, language)

    try:
        with Reader() as reader:
            candidates = candidates_of(out, submissions, reader) if to in PLATFORMS else {}
        content = template.read_bytes() if template else None
        with opened(out) as ledger:
            ready = prepared(
                out, to, ASSIGNMENT.rubric, ledger, content, assignment_id, None if template else PLAIN, told
            )
            back = _back(to, out, ready, candidates, (pages or out / "html") / "students", told, language)
            _preflight(ready, back, accept_drops, accept_blanks)
            place.mkdir(parents=True, exist_ok=True)
            _write(to, place, back, ready, ledger, graded=template is not None or to == MAIL)
    except (ExportError, LedgerError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or place}: {error.strerror}. Nothing more was written.")


def _back(
    to: str, out: Path, ready: Prepared, candidates: Mapping[str, Candidate], pages: Path, told: Told, language: str
) -> Back:
    """What goes back, and to whom nothing does."""
    files: dict[str, bytes] = {}
    letters: list[Sequence[str]] = []
    without: dict[str, list[str]] = {}
    for row in ready.made.rows:
        identifier = row.report.submission.id
        page = pages / f"{identifier}.html"
        reason = _outdated(page, out, identifier)
        if not reason and to == MAIL:
            name, address = row.student.name, row.student.email
            reason = "" if address else "no address; grade with a roster that has one"
            reason = reason or ("" if name else "no name; grade with a roster that has one")
            text = letter(name, told(row.report), language)
            letters += (
                [] if reason else [(address, name, subject(ASSIGNMENT.rubric, language), text, str(page.resolve()))]
            )
        elif not reason:
            own = _packed(to, candidates.get(identifier), page, told(row.report))
            reason = "" if own else _no_place(to, row)
            files |= own
        if reason:
            without.setdefault(reason, []).append(f"{row.student} ({identifier})")
    return Back(files, letters, without)


def _outdated(page: Path, out: Path, identifier: str) -> str:
    """Why a page cannot go back; empty if it can."""
    if not page.is_file():
        return "no page; run `grader report` first"
    sources = [path for path in (out / identifier / "report.json", out / DECISIONS) if path.is_file()]
    newest = max((path.stat().st_mtime_ns for path in sources), default=0)
    return OUTDATED if newest > page.stat().st_mtime_ns else ""


def _packed(to: str, candidate: Candidate | None, page: Path, text: str) -> dict[str, bytes]:
    if candidate is None:
        return {}
    return (
        for_canvas(candidate, page.read_bytes(), text) if to == "canvas" else for_moodle(candidate, page.read_bytes())
    )


def _no_place(to: str, row: Row) -> str:
    if row.source == "roster":
        return ABSENT
    if to == "canvas":
        return "no file that Canvas could show a page in place of (a zip, a .py, a text)"
    return "no folder in Moodle's download"


def _preflight(ready: Prepared, back: Back, accept_drops: bool, accept_blanks: bool) -> None:
    """Say what a person should know; end the command if a person has to look first."""
    ready.say()
    for reason, names in back.without.items():
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        say([f"{len(names)} would get no feedback: {reason}", f"  {', '.join(names[:MOST_NAMED])}{more}"])
    none = sum(map(len, back.without.values()))
    counts = f"{ready.lost} would be blank, {len(ready.lower)} would drop, {none} would get no feedback"
    say([f"{len(ready.made.rows)} students: {counts}"])
    look = [*_unaccepted(ready, back, accept_drops, accept_blanks)]
    if look:
        fail(f"a person has to look: {'; '.join(look)}. Nothing was written.", EXIT_GRADER_ERROR)


def _unaccepted(ready: Prepared, back: Back, accept_drops: bool, accept_blanks: bool) -> Iterator[str]:
    yield from filter(None, ready.problems(accept_drops, accept_blanks))
    missing = sum(len(names) for reason, names in back.without.items() if reason != ABSENT)
    if missing and not accept_blanks:
        yield f"students who would get no feedback: {missing} (--accept-blanks returns the others)"


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
    OUT.print(f"{count} pages for {to}: {', '.join(map(str, paths))}", markup=False, highlight=False, soft_wrap=True)
