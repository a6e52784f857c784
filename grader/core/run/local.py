"""Runs jobs in threads of this process. They only wait for judges, so the global interpreter lock does not matter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, ParamSpec

from .executor import Executor, T, cancel
from .judge_pool import PLACE, JudgePool, Place

PARTING_S = 0.5  # for threads to notice that their jobs have been abandoned, and to end their judges

P = ParamSpec("P")


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
    """A pool of daemon threads; ``judges`` are those that it has started.

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
