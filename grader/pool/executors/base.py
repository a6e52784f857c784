"""What the schedule asks of an executor, on top of ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Executor(concurrent.futures.Executor, ABC):
    """Runs jobs in threads that find their :data:`~grader.pool.judge_pool.PLACE` set.

    A future's ``cancel()`` abandons its job, even one that runs already. When an executor can run nothing any more, it
    has cancelled its pending jobs, and cancels every job that is submitted later.

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
        """How many jobs to hand over at a time: those that can run, and a few in reserve so that no slot waits."""


def cancel(future: Future[T]) -> Future[T]:
    """Cancel a future that will never run, so that ``wait`` counts it as done."""
    future.cancel()
    future.set_running_or_notify_cancel()
    return future
