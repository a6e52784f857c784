"""What a property that fails a replay is asked for: the recorded requests in lists, and whatever its tests ask beyond."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from grader.core.sandbox.handle import Operation, WorkerFailed

from .lender import Lent
from .record import Recording, recorded
from .replay import Compared, Exchange, Replies, is_of_the_machine, unpacked
from .student import Student


class AskedAhead(Compared):
    """Another worker, asked for all that was recorded of a case before its test runs."""

    def __init__(self, recording: Recording, replies: Replies, student: Student) -> None:
        """Compare with these replies; the time that lists take is charged to the student."""
        super().__init__(replies)
        self._recording, self._before, self._student = recording, replies, student
        self._imports: list[Exchange] | None = None
        self._rest: list[Exchange] = []  # of the case, last first
        self._is_asked = False
        self._spent_s = 0.0

    def around(self, worker: Lent) -> AskedAhead:  # type: ignore[override] # the lender gives no other
        """Stand around a worker that has imported nothing yet."""
        self._lent, self._imports, self._rest = worker, None, []
        super().around(worker)
        return self

    def begin_case(self, place: int) -> None:
        """Go to a case, of which nothing is asked yet."""
        super().begin_case(place)
        self._rest, self._is_asked = [], False

    def ask_for_case(self) -> None:
        """Ask for what was recorded of the case, unless that has been done.

        Raises:
            WorkerFailed: If there is no answer in time.
        """
        if self._is_asked:
            return
        self._is_asked = True
        if self._imports is None:
            self._imports = self._answered(self._recording.imports, self._recording.loads)
        self.answers = self._answered(self._recording.by_case[self.place], self._recording.cases[self.place])
        self._rest = self.answers[::-1]

    def has_the_same_for_all(self) -> bool:
        """Whether the worker answers as before to all that was recorded of the property, asked for in one list."""
        with suppress(WorkerFailed):
            return self._before.are_the_same(self._listed(self._recording.packed))
        return False

    def _answered(self, packed: bytes, requests: Sequence[tuple[Any, int]]) -> list[Exchange]:
        """Requests with their replies, which are asked for in one list."""
        replies = unpacked(self._listed(packed))
        self.has_ended |= any(map(is_of_the_machine, replies))
        return [(request, reply) for (request, _), reply in zip(requests, replies, strict=False)]

    def _listed(self, packed: bytes) -> bytes:
        try:
            return self._lent.request_list(packed, self._recording.limit_s)
        except WorkerFailed:
            self.has_ended = True
            raise
        finally:
            self._student.charge(self._recording.names, self._lent.spent_s)

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """The reply that has come already; to a request that was not recorded, the worker's."""
        self.ask_for_case()
        self._spent_s, asked = 0.0, recorded(operations)
        for request, reply in self._imports or ():
            if request == asked:
                return dict(reply)
        if self._rest and self._rest[-1][0] == asked:
            return dict(self._rest.pop()[1])
        self._rest = []
        try:
            return super().request(operations, timeout_s)
        finally:
            self._spent_s = self._lent.spent_s

    @property
    def spent_s(self) -> float:
        """Seconds of the last request that are not charged yet."""
        return self._spent_s
