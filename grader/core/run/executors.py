"""Executors, which run jobs: what the schedule asks of one, the local one, and the choice by ``--executor``.

A job grades one submission, in the pool of warm judge processes of the process that runs it.
"""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from grader.core.extras import extra
from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.settings import CannotGrade, Settings

from .judge_process import LOOK_S, Abandoned, Failure, JudgeProcess

KEEP_S = 30.0  # after so many seconds an idle judge ends, since it holds some 100 MiB
# Wall-clock seconds after which a judge counts as stalled.
START_S = 600.0  # to import torch, start its fork server, and grade the reference
MARGIN_S = 60.0  # for the judge's own work on one property, added to the submission's time limit
LOAD = 4.0  # factor on the submission's time limit, for a machine that is busy
STARTING = max(1, (os.cpu_count() or 1) // 2)  # judges that start at a time; each computes in two processes


@dataclass(frozen=True)
class Job:
    """Everything that grading one submission needs. It may run on another machine, so it holds no path.

    Attributes:
        failure: None to grade the submission; otherwise the reason to report that it cannot be graded.
        condemned: Ids of properties over which judges have died. They are failed without running any test.
        rubric_sha256: The digest of the rubric on the machine that made the job; the assignment is sent by name.
    """

    submission: Submission
    settings: Settings
    failure: str | None = None
    condemned: frozenset[str] = frozenset()
    rubric_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubric_sha256", self.settings.assignment.rubric.sha256)


class JudgePool:
    """The judge processes that this process has started; threads take them from here and put them back.

    Attributes:
        readied: How many judges have become ready so far.
    """

    def __init__(self) -> None:
        """Start with no judge: :meth:`grade` starts one when no idle judge has the right settings."""
        self._changed = threading.Condition()
        self._starting = self.readied = 0
        self._idle: dict[JudgeProcess, threading.Timer] = {}
        self._closed = False

    def grade(self, job: Job, abandoned: Callable[[], bool]) -> Report | Failure:
        """Grade the submission of a job in an idle or a new judge process. A judge that fails is ended.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
            CannotGrade: If this machine cannot grade with these settings.
        """
        judge = self._take(job.settings, abandoned)
        keep = False
        try:
            if not judge.ready and (failure := self._first_answer(judge, abandoned)):
                return Failure(failure.reason or "", begun=False)
            judge.ask(job.submission, job.failure, job.condemned)
            within_s = job.settings.limits.submission_s * LOAD + MARGIN_S
            answer = judge.answer(within_s, abandoned)
            assert answer is not None, "only a starting judge reports that it is ready"
            keep = isinstance(answer, Report) and answer.status != "grader_error"
            return answer
        finally:
            if keep:
                self._keep(judge)
            else:
                judge.end()

    def _take(self, settings: Settings, abandoned: Callable[[], bool]) -> JudgeProcess:
        """An idle judge, or a new one once there is room for it to start.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
        """
        with self._changed:
            while True:
                judge = next((judge for judge in self._idle if judge.settings == settings), None)
                if judge:
                    self._idle.pop(judge).cancel()
                    return judge
                if self._starting < STARTING:
                    self._starting += 1
                    break
                self._changed.wait(LOOK_S)
                if abandoned():
                    raise Abandoned
        try:
            return JudgeProcess(settings)
        except BaseException:
            self._has_started()
            raise

    def _first_answer(self, judge: JudgeProcess, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """None once the judge is ready, or how it failed; then the next judge may start."""
        try:
            answer = judge.answer(START_S, abandoned)
            self.readied += answer is None
            return answer
        finally:
            self._has_started()

    def _has_started(self) -> None:
        with self._changed:
            self._starting -= 1
            self._changed.notify_all()

    def _keep(self, judge: JudgeProcess) -> None:
        timer = threading.Timer(KEEP_S, self._end, [judge])
        timer.daemon = True
        with self._changed:
            self._idle[judge] = timer
            timer.start()
            self._changed.notify()
        if self._closed:
            self._end(judge)

    def _end(self, judge: JudgeProcess) -> None:
        """End a judge if it is still idle."""
        with self._changed:
            timer = self._idle.pop(judge, None)
        if timer:
            timer.cancel()
            judge.end()

    def close(self) -> None:
        """End the idle judges; those at work end after their job."""
        self._closed = True
        for judge in list(self._idle):
            self._end(judge)


@dataclass(frozen=True)
class Place:
    """What an executor tells a job about the process that runs it.

    Attributes:
        judges: The judges of this process.
        abandoned: Whether the job has been cancelled. A thread cannot be ended from outside, so the job asks.
    """

    judges: JudgePool
    abandoned: Callable[[], bool]


PLACE: ContextVar[Place] = ContextVar("PLACE")  # set by an executor, in the thread that runs the job


def grade_submission(job: Job) -> Report | Failure:
    """Run a job. This is a function of a module, so that it can be sent to another machine by its name.

    Raises:
        CannotGrade: If the rubric here differs from the one on the machine that made the job.
    """
    if job.settings.assignment.rubric.sha256 != job.rubric_sha256:
        raise CannotGrade("a worker's rubric differs from this machine's. Install the same grader on both.")
    place = PLACE.get()
    return place.judges.grade(job, place.abandoned)


LOCAL = "local"
SLURM = "slurm"
CHOICES = f"{LOCAL}, tcp://HOST:PORT, tls://HOST:PORT or {SLURM}"
PARTING_S = 0.5  # for threads to notice that their jobs have been abandoned, and to end their judges

P = ParamSpec("P")
T = TypeVar("T")


class Executor(concurrent.futures.Executor, ABC):
    """Runs jobs in threads that find their :data:`.PLACE` set.

    A future's ``cancel()`` also abandons a job that runs already. An executor that can run nothing any more cancels all
    of its futures, and those of jobs that are submitted later.

    Attributes:
        gone: What to tell a person when the executor can run nothing any more.
        notice: What a person should know before anything runs; empty if nothing.
        killers: Exceptions of a future that say that the process running the job died, perhaps because of the job.
    """

    gone = "the executor has been shut down"
    notice = ""
    killers: tuple[type[Exception], ...] = ()

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many jobs to submit at a time: as many as can run, and a few more to follow at once when one ends."""


def cancel(future: Future[T]) -> Future[T]:
    """Cancel a future that will never run, so that ``wait`` counts it as done."""
    future.cancel()
    future.set_running_or_notify_cancel()
    return future


class _Abandonable(Future[T]):
    """A future whose job can find out that its result is no longer wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.abandoned = threading.Event()

    def cancel(self) -> bool:
        """Abandon the job; True if it has not begun."""
        self.abandoned.set()
        return super().cancel()


class LocalExecutor(Executor):
    """A pool of daemon threads, which only wait for judges; ``judges`` are those that it has started.

    ``ThreadPoolExecutor`` would not do, since the interpreter waits for its threads at exit. A thread that is starting
    the first judge cannot be interrupted for seconds, and Ctrl-C should end the program sooner.
    """

    def __init__(self, jobs: int) -> None:
        """Start threads for ``jobs`` jobs at a time."""
        self._jobs = jobs
        self.judges = JudgePool()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._futures: set[_Abandonable[Any]] = set()
        self._closed = False

    @property
    def slots(self) -> int:
        """One more job than can run, so that a judge that becomes free has work at once."""
        return self._jobs + 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a thread call the function."""
        future: _Abandonable[T] = _Abandonable()
        if self._closed:
            return cancel(future)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)

        def run() -> None:
            PLACE.set(Place(self.judges, future.abandoned.is_set))
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)

        self._work.put(run)
        if len(self._threads) < self._jobs:
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()
        return future

    def _serve(self) -> None:
        while work := self._work.get():
            work()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Abandon all jobs that are left, and end all judges."""
        self._closed = True
        if cancel_futures:
            for future in list(self._futures):
                future.cancel()
        for _ in self._threads:
            self._work.put(None)
        end = time.monotonic() + PARTING_S
        for thread in self._threads if wait else ():
            thread.join(max(0.0, end - time.monotonic()))
        self.judges.close()


def open_executor(choice: str, jobs: int) -> Executor:
    """An executor that is ready for jobs: so many at a time if it is local, or in so many Slurm jobs.

    Raises:
        CannotGrade: If the choice is unknown or cannot be used here; the text says what to do.
    """
    if choice == LOCAL:
        return LocalExecutor(jobs)
    if choice != SLURM and not choice.startswith(("tcp://", "tls://")):
        raise CannotGrade(f"--executor {choice}: not an executor. Choose {CHOICES}.")
    if (cluster := extra("cluster")) is None:
        raise CannotGrade(f"--executor {choice} needs grader/extras/cluster, and that folder is missing.")
    found: Executor = cluster.open_executor(choice, jobs)
    return found
