"""The current state of the class folder, reread after every change of a file, with the queue for manual review."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, permutations
from pathlib import Path
from typing import Final, get_args

from grader.core.assignment import Assignment
from grader.core.grades.graded import FILE, FOLDER, GradedClass
from grader.core.messages import Sentences
from grader.core.pages import WORDS
from grader.core.results.files import Stamp, stamp
from grader.core.results.outcome import NOT_BEGUN
from grader.core.results.report import Attention, ReasonCode, Report, SummaryLine
from grader.core.results.statistics import Entry, entry
from grader.core.results.views import told
from grader.core.results.written import REPORT, SUMMARY, read_attention, read_lines, read_report
from grader.core.rubric import Rubric
from grader.extras.decisions.alike import Causes, Group, groups, lost
from grader.extras.decisions.decided import Book, DecidedClass
from grader.extras.decisions.extension import decided
from grader.extras.decisions.file import files_in
from grader.extras.decisions.model import ASKED, Ruling

say = Sentences(WORDS, Path(__file__).with_name("words.toml"))  # of the review, beside those of other pages
UNUSUAL, SIMILAR = "unusual", "similar"
ORDER: Final = [*get_args(ReasonCode), UNUSUAL, SIMILAR]
ORDER.insert(ORDER.index("unreadable") + 1, ASKED)  # an appeal: after what has no grade or rests on changed ground
HIGH, LOW = 0.8, 0.2  # of a task's points
MOST_ALIKE = 0.05  # of those who did as well in one task, the part that may do as badly in the other
FEWEST = 8  # who did well in a task: of fewer, nothing is unusual
TELLING = 0.8  # of one's own code, the part that the other has too
PAIRS = "similar.csv"

Stamps = Mapping[Path, Stamp]  # change whenever a file is written


@dataclass(frozen=True)
class Reason:
    """One reason for manual review.

    Attributes:
        code: One of ``ORDER``.
        text: In plain words.
        other: The other submission of a similar pair.
    """

    code: str
    text: str
    other: str = ""

    @property
    def key(self) -> str:
        """The reason's key in a decision that marks it as seen."""
        return f"{self.code} {self.other}".rstrip()


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
        ids = [place.line.id for place in self.queue]
        start = ids.index(submission) if submission in ids else min(step, 0)
        around = [self.queue[(start + step * n) % len(ids)] for n in range(submission in ids, len(ids))]
        return next((place.line.id for place in around if place.seen is None and place.line.id != submission), None)


class Classroom:
    """A folder of reports, cached in memory until its files change; ``pairs`` is that of `grader similar`.

    If the queue is dealt out, a ``share`` of it is shown: the second of three is ``(2, 3)``.
    """

    def __init__(
        self, folder: Path, assignment: Assignment, language: str, pairs: Path, share: tuple[int, int] = (1, 1)
    ) -> None:
        self._folder, self._assignment, self._language = folder, assignment, language
        self._pairs, self._share = pairs / PAIRS, share
        self._light: dict[str, tuple[Stamps, Report, Causes]] = {}
        self._now: tuple[Stamps, Now] | None = None

    def now(self) -> Now:
        """The current state of the class.

        Raises:
            NotWritten: If summary or reports cannot be read.
            DecisionError: If ``decisions.toml`` has a mistake.
            OSError: If a file cannot be read or written.
        """
        if self._now is None or _stamps(self._now[0]) != self._now[0]:
            # Stamps come first: what changes while it is read has another stamp the next time.
            files = [self._folder / FILE, self._folder / FOLDER, *files_in(self._folder)]
            stamps = _stamps([self._folder / SUMMARY, *files, self._pairs])
            lines = read_lines(self._folder)
            self._now = {**stamps, **_stamps(self._path(line.id) for line in lines)}, self._read(lines)
        return self._now[1]

    def report(self, submission: str) -> Report:
        """A report with all of its cases, as the grader wrote it."""
        return read_report(self._folder, submission)

    def _path(self, submission: str) -> Path:
        return self._folder / submission / REPORT

    def _read(self, lines: Sequence[SummaryLine]) -> Now:
        rubric = self._assignment.rubric
        known = decided(GradedClass(self._folder, lines, rubric, self._without_cases))
        book = known.book
        entries = [entry(known.report(line.id), line.practice) for line in lines]
        reasons = chain(
            ((line.id, Reason(ASKED, one.decision.appeal or "")) for line in lines for one in book.asked(line.id)),
            noticed(known.attention(read_attention(self._folder)), self._assignment, self._language),
            unusual(entries, rubric, self._language),
            similar(self._pairs, self._language),
        )
        causes = {line.id: self._light[line.id][2] for line in lines}
        same = groups(causes, lambda submission, name: name in book.points(submission))
        named = {mistake.id for mistake in rubric.misconceptions}  # a report may be older than the rubric
        same = [group if group.mistake in named else replace(group, mistake="") for group in same]
        part, parts = self._share  # always the same part of the class, whatever has been reviewed by now
        return Now(known, entries, queue([*map(known.in_force, lines[part - 1 :: parts])], book, reasons), causes, same)

    def _without_cases(self, submission: str) -> Report:
        """A report without its cases, of which thousands fit into memory."""
        stamps = _stamps([self._path(submission)])
        if submission not in self._light or self._light[submission][0] != stamps:
            report = self.report(submission)
            self._light[submission] = stamps, without_cases(report), lost(report)
        return self._light[submission][1]


def _stamps(paths: Iterable[Path]) -> Stamps:
    return {path: stamp(path) for path in paths}


def without_cases(report: Report) -> Report:
    """A report in which no property has a case, message or hint."""
    return report.with_properties(lambda prop: prop.model_copy(update={"cases": [], "hint": ""}))


def queue(lines: Sequence[SummaryLine], book: Book, reasons: Iterable[tuple[str, Reason]]) -> list[Place]:
    """The submissions for manual review, most urgent first, reviewed ones last."""
    found: dict[str, list[Reason]] = {line.id: [] for line in lines}
    for submission, reason in reasons:
        if submission in found:  # a pair may be of an earlier run
            found[submission].append(reason)
    places = []
    for line in lines:
        if needs := sorted(found[line.id], key=lambda reason: ORDER.index(reason.code)):
            covered = {reason.key for reason in needs} <= {*book.looked_at(line.id)}
            places.append(Place(line, needs, book.seen(line.id) if covered else None))
    return sorted(places, key=lambda place: (place.seen is not None, ORDER.index(place.reasons[0].code)))


def noticed(attention: Iterable[Attention], assignment: Assignment, language: str) -> Iterator[tuple[str, Reason]]:
    """What grading and decisions have noticed: the submission, and the reason, in Chinese where there are words."""
    for one in attention:
        way = " " + say(language, "rename", id=one.id) if one.code == "renamed" else ""
        yield one.id, Reason(one.code, told(one.text, one.parts, assignment, language) + way)


def unusual(entries: Sequence[Entry], rubric: Rubric, language: str) -> Iterator[tuple[str, Reason]]:
    """Submissions that did well in one task and badly in another, as hardly anybody does who did as well in the first.

    A task that was not begun is not unusual. Of several tasks in which somebody did well, one is named.
    """
    graded = [one for one in entries if one.line.status == "graded"]
    shares = {one.line.id: {task: score / most for task, (score, most) in one.tasks.items() if most} for one in graded}
    named = set()
    for high, low in permutations(dict.fromkeys(task for share in shares.values() for task in share), 2):
        good = [one for one in graded if shares[one.line.id].get(high, 0) >= HIGH and low in shares[one.line.id]]
        bad = [one for one in good if shares[one.line.id][low] <= LOW]
        if len(good) < FEWEST or len(bad) > max(1, MOST_ALIKE * len(good)):
            continue
        for one in bad:
            if (one.line.id, low) not in named and _begun(one, low, rubric):
                named.add((one.line.id, low))
                points = {task: f"{score:g}/{most:g}" for task, (score, most) in one.tasks.items()}
                text = say(language, "unusual", low=low, few=points[low], high=high, many=points[high], all=len(good))
                yield one.line.id, Reason(UNUSUAL, text)


def _begun(one: Entry, task: str, rubric: Rubric) -> bool:
    names = [name for name in one.properties if name in rubric.properties and rubric.task_of(name).id == task]
    lost = [one.properties[name] for name in names if one.properties[name].points < one.properties[name].max_points]
    return any(result.outcome not in NOT_BEGUN for result in lost)


def similar(path: Path, language: str) -> Iterator[tuple[str, Reason]]:
    """Both submissions of each pair in ``similar.csv``, as `grader similar` wrote it, that shares most of a file."""
    if not path.exists():
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            shares = {"first": _share(row, "first_share"), "second": _share(row, "second_share")}
            if row.get("strongest") != "yes" or max(shares.values()) < TELLING:
                continue
            for mine, other in (("first", "second"), ("second", "first")):
                here, there = row[mine], row[other]
                text = say(language, "similar", other=there, share=f"{shares[mine]:.0%}", file=row["file"])
                yield here, Reason(SIMILAR, text, there)


def _share(row: Mapping[str, str], name: str) -> float:
    try:
        return float(row.get(name) or 0)
    except ValueError:
        return 0.0
