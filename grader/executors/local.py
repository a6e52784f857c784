"""Tasks in threads of this process; each waits for a judge, so the interpreter's lock does not matter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from ..judges import PLACE, Judges, Place
from .base import Executor, cancel

PARTING_S = 0.5  # for threads to notice that their tasks have been abandoned, and to end their judges

P = ParamSpec("P")
T = TypeVar("T")


class _Abandonable(Future[T]):
    """A future whose task can find out that nobody wants its result."""

    def __init__(self) -> None:
        super().__init__()
        self.abandoned = threading.Event()

    def cancel(self) -> bool:
        """Abandon the task; True if it has not begun."""
        self.abandoned.set()
        return super().cancel()


class LocalExecutor(Executor):
    """A pool of daemon threads.

    The interpreter waits for those of ``ThreadPoolExecutor`` when it ends. Starting the first judge takes seconds in
    which its thread cannot look up, and a Ctrl-C should not take as long.
    """

    def __init__(self, jobs: int) -> None:
        """``jobs`` tasks at a time."""
        self._jobs = jobs
        self._judges = Judges()
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._futures: set[_Abandonable[Any]] = set()
        self._closed = False

    @property
    def slots(self) -> int:
        """One more than can run, so that a free judge has something to do at once."""
        return self._jobs + 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a thread call it."""
        future: _Abandonable[T] = _Abandonable()
        if self._closed:
            return cancel(future)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)

        def run() -> None:
            PLACE.set(Place(self._judges, future.abandoned.is_set))
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
        """Abandon what is left, and end all judges."""
        self._closed = True
        if cancel_futures:
            for future in list(self._futures):
                future.cancel()
        for _ in self._threads:
            self._work.put(None)
        end = time.monotonic() + PARTING_S
        for thread in self._threads if wait else ():
            thread.join(max(0.0, end - time.monotonic()))
        self._judges.close()
