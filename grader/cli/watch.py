"""``grader watch``: grades what arrives or changes in a folder."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from ..assignment import ASSIGNMENT
from ..decisions.model import FILE as DECISIONS
from ..intake.candidate import Candidate
from ..intake.discover import IntakeError
from ..intake.reader import Reader
from ..intake.roster import RosterError
from ..intake.submission import Submission
from ..pool.executors.local import LocalExecutor
from ..pool.judge_pool import Job, Patience, grade_submission
from ..pool.progress import describe
from ..pool.run import begun
from ..pool.schedule import GradingFailed, grade_all
from ..results.database import LedgerError
from ..results.report import write_text
from ..results.sources import note
from ..settings import CannotGrade, Settings
from ..tools.watch.quiet import Pace, Seen, changes, seen_files
from .grade import DeviceChoice
from .intake import Roster, Source, discovered
from .report import report
from .terminal import EXIT_GRADER_ERROR, fail, language_of, prepare, say, warn

if TYPE_CHECKING:
    from ..tools.watch.public import PublicResult

KEEP_S = 3600.0  # an idle judge: whoever hands in next does not wait for one to start


class Grading(Protocol):
    """What is done when the folder has changed and come to rest."""

    def look(self, candidates: Sequence[Candidate]) -> None:
        """Grade what is new, and write the pages."""


def watch(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where submissions arrive: folders or archives.")],
    out: Annotated[Path, typer.Option(help="Where the reports and the pages go: OUT/html/index.html.")],
    public: Annotated[
        bool, typer.Option("--public", help="Only what the public tests would say: for a drop box before the deadline.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks at the folder.")] = Pace.every_s,
    settle: Annotated[
        float, typer.Option(min=0, help="Seconds without change after which an upload counts as finished.")
    ] = Pace.settle_s,
    jobs: Annotated[int, typer.Option(min=1, help="Judges at a time.")] = os.cpu_count() or 1,
    device: Annotated[
        DeviceChoice, typer.Option(help="auto takes a second device beside the CPU: a GPU, or a simulated one.")
    ] = DeviceChoice.AUTO,
    source: Source = None,
    roster: Roster = None,
    lang: Annotated[str, typer.Option(help="Language of reports and pages: en or zh. Default: the locale.")] = "",
) -> None:
    """Grade what arrives or changes in a folder, and write the pages anew within seconds. Ctrl-C ends it."""
    language = language_of(lang)
    if not folder.is_dir():
        fail(f"{folder}: no such folder. Make it, or give the one that submissions arrive in.")
    if out.resolve().is_relative_to(folder.resolve()):
        fail(f"--out {out}: lies in the folder that is watched, so each page would be a change. Choose another place.")
    prepare(out)
    settings = Settings(ASSIGNMENT, str(device), language=language, command=f"grader watch {folder} --out {out}")
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # how systemd asks for the end
    try:
        with contextlib.ExitStack() as stack:
            reader = stack.enter_context(Reader())
            grading: Grading
            if public:
                grading = _PublicOnly(out, reader, language)
            else:
                pool = stack.enter_context(LocalExecutor(jobs, KEEP_S))
                grading = _Graded(out, settings, reader, pool, (folder, source, roster))
            _say(f"watching {folder}; Ctrl-C ends it")
            beside = [out / DECISIONS, *([roster] if roster else [])]  # pages follow them, too
            for _ in changes(folder, Pace(every, settle), beside=beside):
                _look(grading, reader, folder, source, roster)
    except KeyboardInterrupt:
        _say(f"stopped; what was finished is in {out}")
    except CannotGrade as error:
        fail(str(error))
    except GradingFailed as error:
        fail(str(error), EXIT_GRADER_ERROR)
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}. Finished reports are whole; free the place and run again.", 3)
    finally:
        signal.signal(signal.SIGTERM, before)


def _look(grading: Grading, reader: Reader, folder: Path, source: str | None, roster: Path | None) -> None:
    """Grade what is there. What cannot be told apart yet may be so after the next change."""
    try:
        grading.look(discovered(reader, [folder], source, roster))
    except RosterError as error:
        fail(str(error))
    except (IntakeError, LedgerError) as error:
        warn(f"waiting: {error}")


class _Graded:
    """Grades with hidden tests, as ``grade`` does, and keeps what has not changed."""

    def __init__(
        self,
        out: Path,
        settings: Settings,
        reader: Reader,
        pool: LocalExecutor,
        given: tuple[Path, str | None, Path | None],
    ) -> None:
        self._out, self._settings, self._reader, self._pool, self._given = out, settings, reader, pool, given
        self._shown: Seen | None = None
        nobody = Submission("nobody", reason="a judge starts before the first submission arrives")
        pool.submit(grade_submission, Job(nobody, replace(settings, language="en"), Patience()))

    def look(self, candidates: Sequence[Candidate]) -> None:
        """Grade what is new or has changed, and write summary and pages if anything is different."""
        with begun(self._out, candidates, self._settings, fresh=False, reader=self._reader) as run:
            folder, source, roster = self._given
            note(self._out, [folder], source, roster)
            english = replace(self._settings, language="en")
            with contextlib.closing(grade_all(run.submissions(), english, self._pool)) as graded:
                for one in map(run.save, graded):
                    _say(f"{one.submission.id}: {describe(one)}")
            run.finish({})
        reports = [self._out / candidate.id / "report.json" for candidate in candidates]
        shown = seen_files([*reports, self._out / DECISIONS])
        if shown != self._shown:
            self._shown = shown
            report(self._out, lang=self._settings.language)


class _PublicOnly:
    """Runs the public tests, and keeps what they said of files that have not changed."""

    def __init__(self, out: Path, reader: Reader, language: str) -> None:
        from ..tools.watch.public import PublicTests  # reads all tests

        self._out, self._reader, self._language = out, reader, language
        self._tests = PublicTests(ASSIGNMENT, language)
        self._known: dict[tuple[str, str, tuple[str, ...]], PublicResult] = {}

    def look(self, candidates: Sequence[Candidate]) -> None:
        """Run the tests on what is new or has changed, and write the pages."""
        from ..tools.watch.page import public_pages  # templates are slow to import

        known: dict[tuple[str, str, tuple[str, ...]], PublicResult] = {}
        for candidate in candidates:
            submission = self._reader.read(candidate)
            key = (submission.id, submission.sha256, (*submission.notices, submission.reason or ""))
            if key not in self._known:
                self._known[key] = self._tests.run(submission)
                _say(f"{submission.id}: {self._known[key].passed} of {self._known[key].count} in the public tests")
            known[key] = self._known[key]
        self._known = known
        pages, html = public_pages([*known.values()], ASSIGNMENT.rubric, self._language), self._out / "html"
        prepare(html / "students")
        for name, text in pages.items():
            write_text(html / name, text)
        for page in (html / "students").glob("*.html"):
            if f"students/{page.name}" not in pages:  # of somebody who took the work back
                page.unlink()
        _say(f"{len(known)} students: {html / 'index.html'}")


def _say(text: str) -> None:
    say(f"{time.strftime('%H:%M:%S')} {text}")
