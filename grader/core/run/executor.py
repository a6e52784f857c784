"""What the schedule asks of an executor, on top of ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Executor(concurrent.futures.Executor, ABC):
    """Runs jobs in threads that find their :data:`~grader.core.run.judge_pool.PLACE` set.

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
