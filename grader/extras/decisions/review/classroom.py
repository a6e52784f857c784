"""The current state of the class folder, reread after every change of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from os import stat_result
from pathlib import Path
from typing import Final

from grader.core.assignment import Assignment
from grader.core.grades.decided import Book, DecidedClass, read_decided
from grader.core.grades.model import ASKED, FILE, FOLDER, Ruling
from grader.core.results.report import Report, SummaryLine
from grader.core.results.statistics import Entry, entry
from grader.core.results.written import REPORT, SUMMARY, read_attention, read_lines, read_report
from grader.extras.decisions.alike import Causes, Group, groups, lost
from grader.extras.decisions.file import files_in

from .reasons import PAIRS, Reason, noticed, similar, unusual

Stamp = tuple[int, int, int]
NOWHERE: Final = (0, 0, 0)


@dataclass(frozen=True)
class Place:
    """One submission in the queue.

    Attributes:
        reasons: Why a person should look at it, the most urgent first.
        seen: That somebody has looked at it, for all of these reasons; None if nobody has.
    """

    line: SummaryLine
    reasons: Sequence[Reason]
    seen: Ruling | None = None


@dataclass(frozen=True, eq=False)
class Now:
    """A class at one moment.

    Attributes:
        known: Reports and decisions; the reports are without their cases.
        entries: What the page of the class needs, in the order of the summary.
        queue: Who needs a person, in order of need; whoever was looked at comes last.
        causes: From a submission to what it lost, and why.
        groups: Submissions that lost a property alike and are not decided about.
    """

    known: DecidedClass
    entries: Sequence[Entry]
    queue: Sequence[Place]
    causes: Mapping[str, Causes] = field(default_factory=dict)
    groups: Sequence[Group] = ()

    def group(self, key: str) -> Group | None:
        """The group of that key; None if there is none any more."""
        return next((one for one in self.groups if one.key == key), None)

    def beside(self, submission: str, step: int) -> str | None:
        """The next or previous unreviewed submission in the queue; None if there is no other."""
        ids = [own.line.id for own in self.queue]
        start = ids.index(submission) if submission in ids else min(step, 0)
        around = [self.queue[(start + step * n) % len(ids)] for n in range(submission in ids, len(ids))]
        return next((own.line.id for own in around if own.seen is None and own.line.id != submission), None)


class Classroom:
    """A folder of reports, cached in memory until its files change; ``pairs`` is that of `grader similar`.

    If the queue is dealt out, a ``share`` of it is shown: the second of three is ``(2, 3)``.
    """

    def __init__(
        self, folder: Path, assignment: Assignment, language: str, pairs: Path, share: tuple[int, int] = (1, 1)
    ) -> None:
        self._share = share
        self._folder, self._assignment, self._language, self._pairs = folder, assignment, language, pairs
        self._light: dict[str, tuple[Stamp, Report, Causes]] = {}
        self._now: tuple[Mapping[Path, Stamp], Now] | None = None

    def now(self) -> Now:
        """The current state of the class.

        Raises:
            NotWritten: If summary or reports cannot be read.
            DecisionError: If ``decisions.toml`` has a mistake.
            OSError: If a file cannot be read or written.
        """
        if self._now is None or self._stamps(self._now[0]) != self._now[0]:
            # Stamps come first: what changes while it is read has another stamp the next time.
            files = [self._folder / FILE, self._folder / FOLDER, *files_in(self._folder)]
            stamps = self._stamps([self._folder / SUMMARY, *files, self._pairs / PAIRS])
            lines = read_lines(self._folder)
            stamps |= self._stamps(self._path(line.id) for line in lines)
            self._now = stamps, self._read(lines)
        return self._now[1]

    def report(self, submission: str) -> Report:
        """A report with all of its cases, as the grader wrote it."""
        return read_report(self._folder, submission)

    def _path(self, submission: str) -> Path:
        return self._folder / submission / REPORT

    def _stamps(self, paths: Iterable[Path]) -> dict[Path, Stamp]:
        return {path: _stamp(path) for path in paths}

    def _read(self, lines: Sequence[SummaryLine]) -> Now:
        rubric, reports = self._assignment.rubric, self._without_cases
        known = read_decided(self._folder, lines, reports, rubric)
        book = known.book
        entries = [entry(known.report(line.id), line.practice) for line in lines]
        attention = known.attention(read_attention(self._folder))
        reasons = chain(
            ((line.id, Reason(ASKED, one.decision.appeal or "")) for line in lines for one in book.asked(line.id)),
            noticed(attention, self._assignment, self._language),
            unusual(entries, rubric, self._language),
            similar(self._pairs, self._language),
        )
        causes = {line.id: self._light[line.id][2] for line in lines}
        same = groups(causes, lambda submission, name: name in book.points(submission))
        named = {mistake.id for mistake in rubric.misconceptions}  # a report may be older than the rubric
        same = [own if own.mistake in named else replace(own, mistake="") for own in same]
        return Now(known, entries, queue([*map(known.in_force, lines)], book, reasons, self._share), causes, same)

    def _without_cases(self, submission: str) -> Report:
        """A report without its cases, of which thousands fit into memory."""
        stamp = _stamp(self._path(submission))
        if submission not in self._light or self._light[submission][0] != stamp:
            report = self.report(submission)
            self._light[submission] = stamp, without_cases(report), lost(report)
        return self._light[submission][1]


def without_cases(report: Report) -> Report:
    """A report in which no property has a case, message or hint."""
    bare = {"cases": [], "hint": ""}
    tasks = [
        task.model_copy(update={"properties": [prop.model_copy(update=bare) for prop in task.properties]})
        for task in report.tasks
    ]
    return report.model_copy(update={"tasks": tasks})


def queue(
    lines: Sequence[SummaryLine],
    book: Book,
    reasons: Iterable[tuple[str, Reason]],
    share: tuple[int, int] = (1, 1),
) -> list[Place]:
    """The submissions for manual review, most urgent first, reviewed ones last.

    Dealt out, everyone keeps the same part of the class, whatever has been reviewed by now.
    """
    lines = lines[share[0] - 1 :: share[1]]
    found: dict[str, list[Reason]] = {line.id: [] for line in lines}
    for submission, reason in reasons:
        if submission in found:  # a pair may be of an earlier run
            found[submission].append(reason)
    places = []
    for line in lines:
        if needs := sorted(found[line.id], key=lambda own: own.rank):
            covered = {reason.key for reason in needs} <= {*book.looked_at(line.id)}
            places.append(Place(line, needs, book.seen(line.id) if covered else None))
    return sorted(places, key=lambda own: (own.seen is not None, own.reasons[0].rank))


def _stamp(path: Path) -> Stamp:
    """A value that changes whenever a file is written."""
    try:
        found: stat_result = path.stat()
    except OSError:
        return NOWHERE
    return found.st_mtime_ns, found.st_size, found.st_ino
