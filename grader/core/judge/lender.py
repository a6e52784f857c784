"""Workers that are used again: a process costs more than most of what it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from .replay import ReplayWorker, StartReplay


class Lender:
    """The workers of one submission, each of which serves one user after another.

    Every user has the submission imported anew, with random numbers and torch's settings as in a new process. A process
    that has ended, or has been killed, does not come back.
    """

    def __init__(self, start: StartReplay) -> None:
        """Start nothing yet; ``start`` gives a new process."""
        self.new = start
        self._idle: list[ReplayWorker] = []

    def start(self, files: Mapping[str, str]) -> ReplayWorker:
        """A worker for these files, which are always those that were handed in."""
        worker = self._idle.pop() if self._idle else self.new(files)
        worker.lend(self._idle.append)
        return worker

    def end_idle(self) -> None:
        """End the processes that nobody uses, so that the next one is new."""
        while self._idle:
            self._idle.pop().close()
