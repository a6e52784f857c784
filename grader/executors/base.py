"""What the schedule asks of an executor, on top of ``concurrent.futures``."""

from __future__ import annotations

import concurrent.futures
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Executor(concurrent.futures.Executor, ABC):
    """Runs tasks in threads that find their :data:`~grader.judges.PLACE` set.

    A future's ``cancel()`` abandons its task even where that runs already. Once nothing can run any more, what is
    pending has been cancelled, and so has whatever is submitted.

    Attributes:
        gone: What to tell a person then.
        notice: What a person should know before anything runs; empty if nothing.
        killers: Exceptions of a future that say that the task's process died with it, and perhaps of it.
    """

    gone = "the executor has been shut down"
    notice = ""
    killers: tuple[type[Exception], ...] = ()

    @property
    @abstractmethod
    def slots(self) -> int:
        """As many tasks as are worth handing over: those that can run, and a few that wait so that no slot does."""


def cancel(future: Future[T]) -> Future[T]:
    """A future that will never run, cancelled so that ``wait`` takes it for done."""
    future.cancel()
    future.set_running_or_notify_cancel()
    return future
