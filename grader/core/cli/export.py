"""``grader export``: grades on their way to platforms.

Before anything is written, a person reads which grades would go down, and which would get lost.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from grader.core.export.drops import drops, remember
from grader.core.export.rows import Export, Format, Request, blanks, grouped, refusals, rows
from grader.core.export.table import plain
from grader.core.extras import extra, offers
from grader.core.grades.graded import GradedClass
from grader.core.intake.discover import PLATFORMS
from grader.core.results.database import opened
from grader.core.results.files import write_text
from grader.core.results.report import Report, Summary, SummaryLine
from grader.core.results.written import SUMMARY, read_written

from .terminal import (
    EXIT_BAD_INPUT,
    EXIT_GRADER_ERROR,
    Partial,
    chosen,
    ending,
    fail,
    graded_folder,
    read_graded,
    refuse_partial,
    say,
    warn,
)

PLAIN = "csv"  # the format that takes every grade, for grades that go into no file of a platform
FORMATS: dict[str, Format] = {
    name: made
    for known in map(extra, (*reversed(PLATFORMS), "formats"))  # the most common first, as help lists them
    for name, made in getattr(known, "FORMATS", {}).items()
}
FORMATS |= {PLAIN: Format(plain)}


Template = Annotated[
    Path | None, typer.Option(metavar="CSV", help="Canvas gradebook or Moodle worksheet, as downloaded.")
]
AssignmentId = Annotated[str, typer.Option(help="Canvas: the last number in the assignment's URL.")]
AcceptDrops = Annotated[bool, typer.Option("--accept-drops", help="Proceed even if grades have dropped.")]
AcceptStale = Annotated[bool, typer.Option("--accept-stale", help="Proceed even if decisions need another look.")]


def next_step(out: Path, lines: Iterable[SummaryLine]) -> str:
    """The command that gets grades to the platform from which most submissions come; else an export as plain CSV."""
    to = {name for name, made in FORMATS.items() if not made.way.startswith("return") or offers("feedback")}
    sources = Counter(line.origin.source for line in lines if line.origin and line.origin.source in to)
    most = sources.most_common(1)[0][0] if sources else PLAIN
    return f"Next: grader {FORMATS[most].way.format(out=shlex.quote(str(out)))}"


@dataclass(frozen=True)
class Prepared:
    """Grades that are ready to be written.

    Attributes:
        made: The files, and a row for each student.
        lower: The grades that are lower than they were.
    """

    known: GradedClass
    made: Export
    lower: list[tuple[str, str]]

    @property
    def count(self) -> int:
        """How many grades are in the file."""
        return sum(row.cell is not None for row in self.made.rows)

    @property
    def lost(self) -> int:
        """How many grades have no place in the file."""
        return sum(bool(row.grade and row.refused) for row in self.made.rows)

    def say(self) -> None:
        """Print which grades are changed by the policy or people, blank, lower, or have no place in the file."""
        for line in (*self.made.remarks, *grouped("would drop", self.lower), *refusals(self.made.rows)):
            warn(line)

    def problems(
        self, accept_drops: bool, accept_blanks: bool, accept_stale: bool, graded: bool = True
    ) -> list[tuple[str, int]]:
        """Problems that must be accepted first, each with its exit code.

        Nobody can accept an empty file of grades; ``graded`` says whether one is written at all.
        """
        found = []
        if self.lower and not accept_drops:
            lower = f"grades that have dropped: {len(self.lower)} (`grader diff OLD NEW` explains why two gradings "
            found.append((f"{lower}differ; --accept-drops exports them)", EXIT_BAD_INPUT))
        if self.lost and not accept_blanks:
            lost = f"grades that would be blank: {self.lost} (--accept-blanks exports the others)"
            found.append((lost, EXIT_GRADER_ERROR))
        if (unsettled := len(self.known.unsettled)) and not accept_stale:
            stale = f"decisions that need another look: {unsettled} (--accept-stale exports them as they are)"
            found.append((stale, EXIT_GRADER_ERROR))
        if graded and not found and not any(row.cell or row.excused for row in self.made.rows):
            found.append((f"no grade would be written for any of {len(self.made.rows)} students", EXIT_GRADER_ERROR))
        return found


def prepared(
    out: Path,
    to: str,
    ledger: sqlite3.Connection,
    template: bytes | None,
    assignment_id: str,
    file: Path | None = None,
    format_: str | None = None,
    comment: Callable[[Report], str] | None = None,
    partial: bool = False,
    language: str = "en",
) -> Prepared:
    """Prepare the grades of a folder of reports, and compare them with what went to that platform before.

    They are compared with the downloaded template, and with the file that would be overwritten: ``file``, or the usual
    one in the folder. The format is the one called ``to``, unless ``format_`` names another; template and
    ``assignment_id`` are those of :class:`Request`. ``comment`` builds the comment on a student's grade, where the file
    has a place for it; remarks are in ``language``, and ``partial`` accepts results of a single task.

    Raises:
        ExportError: If the platform would refuse the file.
    """
    # Read by id, since the folder may hold reports of earlier runs, too.
    lines = read_written(out / SUMMARY, Summary).submissions
    refuse_partial(out, lines, partial)
    known = read_graded(out, lines, ledger)
    students = rows(known, comment, language)
    made = FORMATS[format_ or to].make(students, Request(known.rubric, template, assignment_id))
    if format_ is None:  # these grades are to be written
        made = replace(made, remarks=[*made.remarks, *blanks(students)])
    formats, path = extra("formats"), file or out / next(iter(made.files))
    written = formats.in_file(path, made.rows) if formats else {}
    lower = drops(ledger, made.rows, to, known.rubric.policy, written)
    return Prepared(known, made, lower)


def export(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    file: Annotated[Path | None, typer.Option("--out", help="Output file. Default: in DIR.")] = None,
    template: Template = None,
    assignment_id: AssignmentId = "",
    accept_drops: AcceptDrops = False,
    accept_stale: AcceptStale = False,
    accept_blanks: Annotated[
        bool, typer.Option("--accept-blanks", help="Proceed even if some grades have no place in the file.")
    ] = False,
    partial: Partial = False,
) -> None:
    """Write grades in a platform's format, under the rubric's policy; first list missing and lowered grades."""
    if to not in FORMATS:
        fail(f"--to {to}: not a format. Choose one of {', '.join(FORMATS)}.")
    with ending(out):
        content = template.read_bytes() if template else None
        with opened(graded_folder(out)) as ledger:
            ready = prepared(out, to, ledger, content, assignment_id, file, partial=partial)
            ready.say()
            if problems := ready.problems(accept_drops, accept_blanks, accept_stale):
                texts, codes = zip(*problems, strict=True)
                fail(f"{'; '.join(texts)}. Nothing was written.", max(codes))
            ((name, text),) = ready.made.files.items()
            path = file or out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            remember(ledger, ready.made.rows, to)
    say(f"{ready.count} grades of {len(ready.made.rows)} students for {to}: {path}")
    absent = sum(row.absent for row in ready.made.rows)
    if absent and chosen().rubric.policy.missing == "blank":
        say(f'No submission and no grade: {absent}. For zeros, set missing = "zero" in [policy] of the rubric.')
    if FORMATS[to].way.startswith("return") and offers("feedback"):
        say(f"Next: upload it, then grader return {shlex.quote(str(out))} --to {to}")
