"""Workers that are used again: a process costs more than most of what it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.core.sandbox.handle import Operation

from .replay import ReplayWorker, StartReplay


class Lender:
    """The workers of one submission, which answer for one property after another.

    Whoever gets one has the submission imported anew, with random numbers and torch's settings as in a new process. A
    process that has ended, or has been killed, is not lent again.
    """

    def __init__(self, start: StartReplay) -> None:
        """Start nothing yet; ``start`` gives a new process."""
        self.new = start
        self._idle: list[ReplayWorker] = []

    def start(self, files: Mapping[str, str]) -> Lent:
        """A worker for these files, which are always those that were handed in."""
        return Lent(self._idle.pop() if self._idle else self.new(files), self._idle)

    def end_idle(self) -> None:
        """End the processes that nobody uses, so that the next one is new."""
        while self._idle:
            self._idle.pop().close()


class Lent:
    """A worker until it is given back."""

    def __init__(self, worker: ReplayWorker, idle: list[ReplayWorker]) -> None:
        """Have the submission imported anew."""
        self._worker, self._idle = worker, idle
        worker.renew()

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Ask the worker."""
        return self._worker.request(operations, timeout_s)

    def request_list(self, requests: bytes, timeout_s: float) -> bytes:
        """Ask the worker for a list."""
        return self._worker.request_list(requests, timeout_s)

    @property
    def spent_s(self) -> float:
        """Seconds charged for the last request."""
        return self._worker.spent_s

    def close(self) -> None:
        """Give it back."""
        if self._worker.runs:
            self._idle.append(self._worker)
