"""One run over a class: which results are kept, which submissions are left to grade, and the files written."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic

from grader.core.grades.graded import DecisionError, GradedClass, decided
from grader.core.grades.people import Key, key, students
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Origin, absent
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.results.attention import attention
from grader.core.results.files import Stamp, json_text, stamp, write_json
from grader.core.results.ledger import Ledger, Recorded
from grader.core.results.report import Attention, Environment, Practice, Report, Summary, SummaryLine, with_origin
from grader.core.results.statistics import Entry, entry
from grader.core.results.views import in_language, viewed
from grader.core.results.written import REPORT, SUMMARY, read_report
from grader.core.settings import Settings, conditions, view


class Run:
    """A run over a class, while no other process can grade into its folder, since the ledger is open.

    The candidates join the class that is in the folder, or, ``alone``, replace it. Earlier submissions of the same
    students leave the class, unless every attempt stays. With ``fresh``, no earlier result of the candidates is kept.

    Attributes:
        candidates: What the run grades or keeps.
        others: How many submissions of earlier runs stay in the class beside them.
        superseded: Ids of earlier submissions in whose place the same students have handed in another one.
        outdated: How many of the others have no result under the present conditions.
        missing: How many submissions of an earlier run, which was stopped, have no result; once finished.
        waiting: Candidates that are left to grade.
        kept: How many candidates keep an earlier result.
        shown_anew: How many of those have had their report written again, for another rubric or language.
        written: How many candidates have a report by now, those that keep one included.
        restored: Ids of candidates whose kept report had been changed or deleted, and was written again.
        reasons: Names of conditions that differ from those of earlier results, which are therefore not kept.
        duration_s: Wall-clock seconds, once finished.
        attention: Reasons for a person to look at a submission for which nobody has looked yet, once finished.
        environments: The environments in which the results were obtained, once finished.
        unsettled: Decisions that a person should look at, once finished.
        mistake: Why decisions could not be read; empty if they could.
    """

    def __init__(
        self,
        out: Path,
        connection: sqlite3.Connection,
        candidates: Sequence[Candidate],
        settings: Settings,
        reader: Reader,
        fresh: bool = False,
        alone: bool = False,
        every_attempt: bool = False,
    ) -> None:
        """Find out which earlier results are kept. Their submissions are read to see whether they changed."""
        self._out, self._connection, self._settings, self._reader = out, connection, settings, reader
        self._started, self._clock = datetime.now(UTC), monotonic()
        self._ledger = ledger = Ledger(connection, conditions(settings), view(settings))
        self.candidates, others, self.superseded = joined(candidates, {} if alone else ledger.known(), every_attempt)
        self.others = len(others)
        self._origins = {candidate.id: candidate.origin for candidate in self.candidates}
        ledger.expect(self._origins, fresh, others)
        self.restored: list[str] = []
        self.shown_anew = self.written = self.missing = 0
        self.duration_s = 0.0
        self.environments: list[Environment] = []
        self.attention: list[Attention] = []
        self.unsettled: Sequence[str] = ()
        self.mistake = ""
        self.reasons = ledger.differing(self._origins)
        recorded = ledger.recorded()
        kept = {
            candidate.id: candidate.origin
            for candidate in self.candidates
            if (known := recorded.get(candidate.id)) and known.is_of(reader.read(candidate))
        }
        joining = {name: recorded[name].origin for name in others if name in recorded}
        self.outdated = self.others - len(joining)
        for name, origin in (kept | joining).items():
            self._keep(name, origin, recorded[name])
        self.waiting = [candidate for candidate in self.candidates if candidate.id not in kept]
        self.kept = self.written = len(kept)

    def _keep(self, name: str, origin: Origin | None, known: Recorded) -> None:
        """Keep an earlier result. Writes its report again if necessary."""
        path = self._out / name / REPORT
        untouched = stamp(path) == known.stamp
        if untouched and known.origin == origin and known.shown:
            return
        before = self._ledger.report(known.result)
        now = self._view(with_origin(before, origin))
        if known.shown and not untouched and not _holds(path, json_text(self._shown(with_origin(now, known.origin)))):
            self.restored.append(name)
        if before.worth != now.worth:
            self._enter(now)
        else:
            self._ledger.rewritten(known.result, now, self._write(now)[1])
        self.shown_anew += not known.shown

    def _view(self, report: Report) -> Report:
        return viewed(report, self._settings.assignment, self._settings.only)

    def _shown(self, report: Report) -> Report:
        return in_language(report, self._settings.assignment, self._settings.language)

    def _write(self, report: Report) -> tuple[Report, Stamp]:
        """Write a viewed report in the language of the run; returns it, and the stamp of its file."""
        shown, path = self._shown(report), self._out / report.submission.id / REPORT
        path.parent.mkdir(exist_ok=True)
        write_json(path, shown)
        return shown, stamp(path)

    def _enter(self, report: Report) -> Report:
        """Write a report, and enter it in the ledger; an earlier summary no longer holds, so it is deleted."""
        (self._out / SUMMARY).unlink(missing_ok=True)
        shown, file = self._write(report)
        self.written += 1
        self._ledger.record(report, file)
        return shown

    def submissions(self) -> Iterator[Submission]:
        """The submissions that are left to grade, each read when its turn comes."""
        return map(self._reader.read, self.waiting)

    def save(self, report: Report) -> Report:
        """Add the origin to a report from a judge, write it, and enter it in the ledger.

        This deletes an earlier summary; exports refuse a folder without one.
        """
        return self._enter(self._view(with_origin(report, self._origins[report.submission.id])))

    def finish(self, practice: Mapping[str, Practice]) -> list[Entry]:
        """Write the summary of the class, graded now or before; returns an entry for each submission, sorted by id.

        Environment and provenance in the summary are those of the first submission. No summary is written while
        submissions of an earlier run have no result: an export would leave them out.
        """
        entries: list[Entry] = []
        reasons: list[Attention] = []
        environments: dict[str, Environment] = {}
        reports, rubric = self._ledger.reports(), self._settings.assignment.rubric
        first = next(reports)
        for report in itertools.chain([first], reports):
            name = report.submission.id
            entries.append(entry(report, practice.get(name)))
            reasons += attention(report, rubric.policy.late_penalty)
            environments.setdefault(report.environment.model_dump_json(), report.environment)
        self.duration_s = round(monotonic() - self._clock, 3)
        self.missing = len(self._ledger.known()) - len(entries)
        this_run = {
            "command": self._settings.command,
            "started_at": self._started.isoformat(timespec="seconds"),
            "duration_s": self.duration_s,
        }
        lines = [one.line for one in entries]
        whole = Summary(
            assignment=first.assignment,
            submissions=lines,
            environment=first.environment,
            provenance=first.provenance.model_copy(update=this_run),
            attention=self._with_decisions(lines, reasons),
        )
        self.environments = [*environments.values()]
        if not self.missing:
            write_json(self._out / SUMMARY, whole)
        return entries

    def _with_decisions(self, lines: Sequence[SummaryLine], reasons: list[Attention]) -> list[Attention]:
        """Add stale decisions to the reasons; an error in the decisions file is kept until the run has ended."""
        try:
            read = partial(read_report, self._out)
            known = GradedClass(self._out, lines, self._settings.assignment.rubric, read)
            known = decided(known, self._connection)
        except DecisionError as error:
            self.mistake, self.attention = str(error), reasons
            return reasons
        self.unsettled, everything = known.unsettled, known.attention(reasons)
        self.attention = known.unseen(everything)
        return everything


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def joined(
    candidates: Sequence[Candidate], known: Mapping[str, Origin | None], every_attempt: bool
) -> tuple[list[Candidate], list[str], list[str]]:
    """Add a run to the class that its folder already holds.

    Returns the candidates, without those that only say that somebody handed in nothing who did so earlier; the ids of
    earlier submissions that stay; and of those whose students have all handed in another one in this run. With
    ``every_attempt``, these stay as well.
    """
    candidates = [one if one.origin else replace(one, origin=_kept(known.get(one.id))) for one in candidates]
    earlier = {student for name, origin in known.items() if not absent(origin) for student in _keys(name, origin)}
    counted = [one for one in candidates if not (absent(one.origin) and _keys(one.id, one.origin) <= earlier)]
    here = {one.id for one in counted}
    present = {student for one in counted if not absent(one.origin) for student in _keys(one.id, one.origin)}
    rest = {name: origin for name, origin in known.items() if name not in here}
    gone = [
        name
        for name, origin in rest.items()
        if _keys(name, origin) <= present and (absent(origin) or not every_attempt)
    ]
    return counted, [name for name in rest if name not in gone], [name for name in gone if not absent(known[name])]


def _kept(origin: Origin | None) -> Origin | None:
    """Whose a submission is, for a folder or a zip under its id that does not say so."""
    return origin.model_copy(update={"source": "folders"}) if origin and absent(origin) else origin


def _keys(name: str, origin: Origin | None) -> set[Key]:
    return {key(student) for student in students(name, origin)}
