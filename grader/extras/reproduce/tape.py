"""Writes down what a hidden test asks a submission for, and what comes back."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.core.judge.student import StartWorker
from grader.core.sandbox.handle import Operation, WorkerLike


@dataclass(frozen=True)
class Exchange:
    """One request, and its reply.

    Attributes:
        worker: Counts the workers of the submission from 0; a new one has forgotten what the one before knew.
        own: Whether the submission was asked as it was handed in, and not with another text of one of its files.
        operations: What was asked for, in order.
        reply: ``{"value": ...}`` or ``{"error": ...}``; None where the worker gave no answer.
    """

    worker: int
    own: bool
    operations: Sequence[Operation]
    reply: Mapping[str, Any] | None


class Tape:
    """Gives workers that note each exchange.

    Args:
        start_worker: Gives the workers that really answer.
        files: The submission as it was handed in.
    """

    def __init__(self, start_worker: StartWorker, files: Mapping[str, str]) -> None:
        self._start_worker, self._files = start_worker, files
        self._workers = 0
        self.exchanges: list[Exchange] = []

    def start(self, files: Mapping[str, str]) -> WorkerLike:
        """A worker that holds those files."""
        self._workers += 1
        return _Noting(self, self._start_worker(files), self._workers - 1, files == self._files)


class _Noting:
    """A worker whose exchanges are noted."""

    def __init__(self, tape: Tape, worker: WorkerLike, number: int, own: bool) -> None:
        self._tape, self._worker, self._number, self._own = tape, worker, number, own

    @property
    def spent_s(self) -> float:
        """Seconds that the last request was charged."""
        return self._worker.spent_s

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Pass the request on, and note it with its reply."""
        asked, reply = copy.deepcopy(operations), None
        try:
            reply = self._worker.request(operations, timeout_s)
            return reply
        finally:
            self._tape.exchanges.append(Exchange(self._number, self._own, asked, reply))

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
