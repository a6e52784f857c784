"""What a person has to know before grades leave the house: which would go down, and which would get lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..export.drops import Drop, drops
from ..export.formats import NO_COMMENTS
from ..export.formats import export as export_as
from ..export.rows import Export, refusals
from ..results.report import Report, Summary
from ..rubric import Rubric
from .decided import read_decided
from .terminal import EXIT_BAD_INPUT, EXIT_GRADER_ERROR, read_written, warn

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
        comment: What a student is told beside the grade; None for nothing.

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
