"""Executors, which run jobs: the interface for the schedule, the local one, and the choice by ``--executor``.

A job grades one submission, in the pool of warm judge processes of the process that runs it.
"""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Self

from grader.core.extras import extra
from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.settings import CannotGrade, Settings

from .judge_process import LOOK_S, Abandoned, Failure, JudgeProcess

ATTEMPTS = 3
# Wall-clock seconds after which a judge counts as stalled.
START_S = 600.0  # to import torch, start its fork server, and grade the reference
MARGIN_S = 60.0  # for the judge's own work on one property, added to the submission's time limit
LOAD = 4.0  # factor on the submission's time limit, for a machine that is busy
STARTING = max(1, (os.cpu_count() or 1) // 2)  # judges that start at a time; each computes in two processes


@dataclass(frozen=True)
class Job:
    """One attempt at a submission, with everything that it needs. It may run on another machine, so it holds no path.

    Attributes:
        number: Counts attempts from 1. Attempt ``ATTEMPTS + 1`` only reports the failure.
        failure: How the attempt before failed; empty for the first.
        suspect: The id of the property at which the judge failed in the attempt before, perhaps by chance.
        condemned: Ids of properties that count as invalid replies without running any test, since judges fail at them.
        rubric_sha256: The digest of the rubric on the machine that made the job; the assignment is sent by name.
    """

    submission: Submission
    settings: Settings
    number: int = 1
    failure: str = ""
    suspect: str = ""
    condemned: frozenset[str] = frozenset()
    rubric_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubric_sha256", self.settings.assignment.rubric.sha256)

    @property
    def given_up(self) -> bool:
        """Whether nothing is run any more, and the last failure is reported."""
        return self.number > ATTEMPTS

    def after(self, failure: Failure) -> Job:
        """The next attempt after a judge has failed; the last has no files, since these may be the cause.

        Every judge first grades the reference, so the machine can grade. If it then uses up its own CPU time, or dies
        or stalls at the property where the judge before did, the cause is what this submission sent. All properties of
        the task are condemned, so that the others do not cost more judges.
        """
        if failure.at and (failure.of_its_limit or failure.at == self.suspect):
            task = self.settings.assignment.rubric.task_of(failure.at)
            return replace(self, condemned=self.condemned | {prop.id for prop in task.properties}, suspect="")
        job = replace(self, number=self.number + failure.begun, failure=failure.reason, suspect=failure.at)
        return replace(job, submission=Submission(self.submission.id)) if job.given_up else job


class JudgePool:
    """The judge processes that this process has started; threads take them from here and put them back.

    ``readied`` counts those that have become ready so far.
    """

    def __init__(self) -> None:
        """Start with no judge: :meth:`grade` starts one when no idle judge has the right settings."""
        self._lock, self._room = threading.Lock(), threading.Semaphore(STARTING)
        self._idle: list[JudgeProcess] = []
        self._closed = False
        self.readied = 0

    def grade(self, job: Job, abandoned: Callable[[], bool]) -> Report | Failure:
        """Do a job in an idle or a new judge process. A judge that fails is ended.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true. A thread cannot be ended from outside, so it asks.
            CannotGrade: If this machine cannot grade with these settings, or its rubric is not that of the job.
        """
        settings = job.settings
        if settings.assignment.rubric.sha256 != job.rubric_sha256:
            raise CannotGrade("a worker's rubric differs from this machine's. Install the same grader on both.")
        judge = self._take(settings, abandoned)
        keep = False
        try:
            if not judge.ready:
                try:
                    failure = judge.answer(START_S, abandoned)
                finally:
                    self._room.release()  # for the next judge to start
                if failure:
                    return Failure(failure.reason or "", begun=False)
                self.readied += 1
            judge.ask(job.submission, job.failure if job.given_up else None, job.condemned)
            answer = judge.answer(settings.limits.submission_s * LOAD + MARGIN_S, abandoned)
            assert answer is not None, "only a starting judge reports that it is ready"
            keep = isinstance(answer, Report) and answer.status != "grader_error"
            return answer
        finally:
            with self._lock:
                keep = keep and not self._closed
                self._idle += [judge] * keep
            if not keep:
                judge.end()

    def _take(self, settings: Settings, abandoned: Callable[[], bool]) -> JudgeProcess:
        """An idle judge, or a new one once there is room for it to start.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
        """
        while True:
            with self._lock:
                for judge in [judge for judge in self._idle if judge.settings == settings]:
                    self._idle.remove(judge)
                    if judge.alive:
                        return judge
                    judge.end()
            if self._room.acquire(timeout=LOOK_S):
                break
            if abandoned():
                raise Abandoned
        try:
            return JudgeProcess(settings)
        except BaseException:
            self._room.release()
            raise

    def close(self) -> None:
        """End the idle judges; those at work end after their job."""
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
        for judge in idle:
            judge.end()


LOCAL = "local"
SLURM = "slurm"
CHOICES = f"{LOCAL}, tcp://HOST:PORT, tls://HOST:PORT or {SLURM}"
PARTING_S = 0.5  # for threads to notice that their jobs have been abandoned, and to end their judges


class Executor(AbstractContextManager["Executor"]):
    """Runs jobs, each by :meth:`JudgePool.grade`; when its ``with`` block ends, jobs that are left are abandoned.

    An executor that can run nothing any more cancels all of its futures, and those of jobs that are submitted later.

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

    @abstractmethod
    def submit(self, job: Job) -> Future[Report | Failure]:
        """Have a job run."""

    def __enter__(self) -> Self:
        return self


class LocalExecutor(Executor):
    """A daemon thread for each job, which only waits for a judge; ``judges`` are those that it has started.

    ``ThreadPoolExecutor`` would not do, since the interpreter waits for its threads at exit. A thread that is starting
    the first judge cannot be interrupted for seconds, and Ctrl-C should end the program sooner.
    """

    def __init__(self, jobs: int) -> None:
        """Run up to ``jobs`` jobs at a time."""
        self._jobs, self._free, self._closed = jobs, threading.Semaphore(jobs), threading.Event()
        self.judges = JudgePool()

    @property
    def slots(self) -> int:
        """One more job than can run, so that a judge that becomes free has work at once."""
        return self._jobs + 1

    def submit(self, job: Job) -> Future[Report | Failure]:
        """Run a job in a thread, as soon as one of the threads before it has finished."""
        future: Future[Report | Failure] = Future()
        threading.Thread(target=self._run, args=(job, future), daemon=True).start()
        return future

    def _run(self, job: Job, future: Future[Report | Failure]) -> None:
        try:
            with self._free:
                if future.set_running_or_notify_cancel():
                    future.set_result(self.judges.grade(job, self._closed.is_set))
        except BaseException as error:  # whatever ends this thread, or the schedule would wait for ever
            future.set_exception(error)

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        end = time.monotonic() + PARTING_S
        for _thread in range(self._jobs):
            self._free.acquire(timeout=max(0.0, end - time.monotonic()))
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
