"""Executors, which run jobs: what the schedule asks of one, the local one, and the choice by ``--executor``."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from grader.core.extras import extra
from grader.core.settings import CannotGrade

from .judge_pool import PLACE, JudgePool, Place

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
