"""Hands submissions to judge processes, as many at a time as asked, and gives their reports as they finish.

One code path over ``concurrent.futures.Executor``. A judge that dies, or makes an error of its own, costs no one a
point: its submissions are tried again, and if that fails too, their reports say that it was the grader.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from .intake.discover import Candidate
from .intake.submission import Submission
from .results.report import Report
from .settings import Settings

if TYPE_CHECKING:  # torch and pytest belong in the judges; the coordinator stays small and starts at once
    from .grading import Grader

ATTEMPTS = 3
AHEAD = 2  # submissions read and waiting for each judge
STALL_MARGIN_S = 120.0  # beyond a submission's own limit: start-up and the judge's own work


class GradingFailed(Exception):
    """A submission that no judge could finish; the text says which and why."""


@dataclass
class _Attempt:
    candidate: Candidate
    number: int = 1


def grade_all(candidates: Sequence[Candidate], settings: Settings, jobs: int) -> Iterator[Report]:
    """Grade every candidate with ``jobs`` judges; reports come in the order in which they finish.

    Raises:
        GradingFailed: If judges keep dying over the same submissions.
        CannotGrade: If the settings fit no judge on this machine.
    """
    waiting = deque(_Attempt(candidate) for candidate in candidates)
    while waiting:
        with _local_executor(min(jobs, len(waiting))) as executor:
            yield from _drain(executor, waiting, settings, jobs * AHEAD)


def _drain(executor: Executor, waiting: deque[_Attempt], settings: Settings, most: int) -> Iterator[Report]:
    """Run what waits until nothing does, or until the pool breaks; what was under way then waits again."""
    running: dict[Future[Report], _Attempt] = {}
    try:
        while waiting or running:
            while waiting and len(running) < most:
                attempt = waiting.popleft()
                running[executor.submit(_grade, attempt.candidate.read(), settings)] = attempt
            done, _ = wait(running, settings.limits.submission_s + STALL_MARGIN_S, return_when=FIRST_COMPLETED)
            if not done:
                _kill_judges()  # which breaks the pool, and so ends below
            for future in done:
                attempt = running[future]
                report = future.result()
                del running[future]
                if report.status == "grader_error" and attempt.number < ATTEMPTS:
                    waiting.append(_Attempt(attempt.candidate, attempt.number + 1))
                else:
                    yield report
    except BrokenProcessPool:
        for attempt in running.values():
            if attempt.number == ATTEMPTS:
                why = f"{attempt.candidate.id}: the judge died {ATTEMPTS} times. Grade it alone to see why."
                raise GradingFailed(why) from None
            waiting.append(_Attempt(attempt.candidate, attempt.number + 1))
    finally:
        if running:
            _kill_judges()


@contextlib.contextmanager
def _local_executor(jobs: int) -> Iterator[Executor]:
    """Processes that have imported torch and pytest once between them, and are gone afterwards, whatever happens."""
    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    if sys.platform == "linux":
        context.set_forkserver_preload(["grader.grading"])
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=_IGNORE_CTRL_C)
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


_IGNORE_CTRL_C = (signal.SIGINT, signal.SIG_IGN)  # the coordinator alone answers it


def _kill_judges() -> None:
    for process in multiprocessing.active_children():
        process.kill()


def _grade(submission: Submission, settings: Settings) -> Report:
    """Runs in a judge process."""
    return _grader(settings).grade(submission)


@cache
def _grader(settings: Settings) -> Grader:
    from .grading import Grader

    return Grader(settings)
