"""Looking ahead: a worker gets all requests of a property at once, and a property may only pass this way, never fail.

One request after another, to a new process for each property, takes most of a submission's time. So the rehearsal
records what each property asks the reference for, and every worker knows these requests. A submission then gets one
worker, which is asked for a few properties at a time. It imports the submission anew for each property, and ends when
the submission has left something behind in the process. The hidden tests run on the replies, and have to ask for
exactly what was recorded. A property passes when all its cases do; any other property is judged again, request by
request, in a worker of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..sandbox.handle import WorkerFailed
from .foresight import Asked, Decide, Foresight, Verdicts
from .student import Student

IN_FLIGHT = 2  # batches: while the judge looks at one, the worker computes the next
TOGETHER = (4, 12, 32)  # properties in the first batch, the second, and so on: each costs a check


class AheadWorker(Protocol):
    """A worker that answers whole properties; see :class:`~grader.sandbox.handle.Worker`."""

    @property
    def spent_s(self) -> float:
        """Seconds charged for the last batch."""

    def ask_ahead(self, numbers: Sequence[int], bare_packages: bool) -> None:
        """Ask for a batch: all requests of some properties, given by their places among all that are foreseen."""

    def answer_ahead(self, timeout_s: float) -> list[bytes] | None:
        """Receive the replies to the next batch."""

    def close(self) -> None:
        """End the worker."""


StartAhead = Callable[[Mapping[str, str]], AheadWorker]


class LookingAhead:
    """Asks one submission for its properties ahead of their tests, in the order of the tests.

    The worker answers batches of properties, and says after each whether the submission has left something behind. If
    so, the batch does not count, and all that follows is asked request by request. After two properties in a row that
    did not pass ahead, no more batches are sent until one has passed in a worker of its own: a submission with many
    mistakes would otherwise be computed twice.

    Args:
        foresight: What the judge keeps between submissions.
        student: The submission as it is asked request by request. It knows what has hung, and is charged for the time
            of a pass; a property that does not pass is charged when it is asked again.
        start_worker: Gives a worker that answers whole properties.
        properties: All properties to be decided, in order.
        together: How many properties make a worker's first batch, its second, and so on; the last number counts for
            all later ones. Since batches grow, early mistakes cost little, and a correct submission has few checks.
    """

    def __init__(
        self,
        foresight: Foresight,
        student: Student,
        start_worker: StartAhead,
        properties: Sequence[str],
        together: Sequence[int] = TOGETHER,
    ) -> None:
        """Start nothing yet: the worker is started when it is needed."""
        self._foresight = foresight
        self._student = student
        self._start_worker = start_worker
        self._together = together
        self._asked = 0  # batches that the present worker has been sent
        self._numbers = {asked: number for number, asked in enumerate(foresight.asked)}
        self._waiting = deque(foresight.order(properties))
        self._sent: deque[list[Asked]] = deque()
        self._replies: dict[Asked, bytes] = {}
        self._worker: AheadWorker | None = None
        self._undecided = 0  # failures in a row: of properties to pass ahead, and of batches
        self._spent_s = 0.0  # for each of the properties in the last batch

    def decide(self, prop: str, decide: Decide) -> Verdicts | None:
        """The verdicts of the next property if it passes; None if a worker of its own has to decide."""
        for read in self._foresight.needed(prop):
            if read not in self._student.readings.found and (replies := self._answer(read)) is not None:
                self._foresight.read(read, replies, self._student)
        replies = self._answer(prop)
        while prop in self._waiting:  # what has not been sent up to and with this property is skipped
            self._waiting.popleft()
        if replies is None:
            return None
        verdicts = self._foresight.decide(prop, replies, self._student, decide)
        if verdicts is None:
            self._undecided += 1
            return None
        self._undecided = 0
        self._student.charge(self._foresight.asked[prop].names, self._spent_s)
        return verdicts

    def decided_plainly(self, passed: bool) -> None:
        """Note whether a property has passed in a worker of its own; if so, batches are sent again."""
        if passed and self._undecided >= IN_FLIGHT:
            self._undecided = 0

    def _answer(self, asked: Asked) -> bytes | None:
        """The replies to one property or reading; None if there are none."""
        if asked not in self._replies:
            self._send()
            if self._sent and asked in self._sent[0]:
                self._receive()
        return self._replies.pop(asked, None)

    def _receive(self) -> None:
        """Wait for the replies to the batch that was sent first."""
        assert self._worker is not None, "what has been sent has been sent to a worker"
        batch = self._sent.popleft()
        try:
            replies = self._worker.answer_ahead(self._foresight.limit_s(batch))
        except WorkerFailed:
            self._undecided += 1
            self.close()
            return
        if replies is None:  # the submission leaves something behind
            self.close()
            self._waiting.clear()
            return
        self._spent_s = self._worker.spent_s / len(batch)
        self._replies = dict(zip(batch, replies, strict=False))

    def _send(self) -> None:
        """Send batches to the worker until as many are under way as are allowed now."""
        while len(self._sent) < IN_FLIGHT - self._undecided and (batch := self._next_batch()):
            self._sent.append(batch)
            self._asked += 1
            try:
                self._worker = self._worker or self._start_worker(self._student.files)
                self._worker.ask_ahead([self._numbers[asked] for asked in batch], self._student.bare_packages)
            except RuntimeError:  # no worker starts here; asking request by request will report that
                self._undecided = IN_FLIGHT
                self.close()

    def _next_batch(self) -> list[Asked]:
        """The next properties that are worth asking."""
        batch: list[Asked] = []
        together = self._together[min(self._asked, len(self._together) - 1)]
        while self._waiting and len(batch) < together:
            asked = self._waiting.popleft()
            foreseen = self._foresight.asked.get(asked)
            if foreseen is not None and not self._student.gives_up(foreseen.names):
                batch.append(asked)
        return batch

    def close(self) -> None:
        """End the worker; properties that it has not answered will be sent again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._asked = 0
        self._waiting.extendleft(asked for batch in reversed(self._sent) for asked in reversed(batch))
        self._sent.clear()
