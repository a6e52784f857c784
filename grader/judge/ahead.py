"""Looking ahead: a worker gets all requests of a property at once, and a property may only pass this way, never fail.

One request after another, to a new process for each property, takes most of a submission's time. So the rehearsal
records what each property asks the reference for. A submission then gets one worker, which receives these requests
property by property. It imports the submission anew for each property, and ends when the submission has left something
behind in the process. The hidden tests run on the replies, and have to ask for exactly what was recorded. A property
passes when all its cases do; any other property is judged again, request by request, in a worker of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor

from ..sandbox.launch import WorkerFailed
from .foresight import Asked, Decide, Foresight, Verdicts
from .student import Student

IN_FLIGHT = 2  # properties: while the judge looks at one, the worker computes the next


class AheadWorker(Protocol):
    """A worker that answers whole properties; see :class:`~grader.sandbox.launch.Worker`."""

    @property
    def spent_s(self) -> float:
        """Seconds charged for the last property."""

    def ask_ahead(self, requests: Tensor, bare_packages: bool) -> None:
        """Send all requests of a property."""

    def answer_ahead(self, timeout_s: float) -> bytes | None:
        """Receive the replies, in the order of the properties."""

    def close(self) -> None:
        """End the worker."""


StartAhead = Callable[[Mapping[str, str]], AheadWorker]


class LookingAhead:
    """Asks one submission ahead for its properties, in the order of the tests.

    After two properties in a row that did not pass ahead, no more are tried until one has passed in a worker of its
    own: a submission that fails much would otherwise be computed twice.

    Args:
        foresight: What the judge keeps between submissions.
        student: The submission as it is asked request by request. It knows what has hung, and is charged for the time
            of a pass; a property that does not pass is charged when it is asked again.
        start_worker: Gives a worker that answers whole properties.
        properties: All properties to be decided, in order.
    """

    def __init__(
        self, foresight: Foresight, student: Student, start_worker: StartAhead, properties: Sequence[str]
    ) -> None:
        """Start nothing yet: the worker is started when it is needed."""
        self._foresight = foresight
        self._student = student
        self._start_worker = start_worker
        self._waiting = deque(foresight.order(properties))
        self._sent: deque[Asked] = deque()
        self._worker: AheadWorker | None = None
        self._answered = 0  # by this worker
        self._undecided = 0  # in a row
        self._spent_s = 0.0

    def decide(self, prop: str, decide: Decide) -> Verdicts | None:
        """The verdicts of the next property if it passes; None if a worker of its own has to decide."""
        while callable(read := self._next()):
            if (replies := self._replies(read)) is not None:
                self._foresight.read(read, replies, self._student)
        replies = self._replies(prop)
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
        """Take note whether a property has passed that a worker of its own decided."""
        if passed and self._undecided >= IN_FLIGHT:
            self._undecided = 0

    def _next(self) -> Asked | None:
        """What will be answered first."""
        return next(iter((*self._sent, *self._waiting)), None)

    def _replies(self, asked: Asked) -> bytes | None:
        while True:
            self._send()
            if not self._sent or self._sent[0] != asked:
                if self._waiting and self._waiting[0] == asked:
                    self._waiting.popleft()
                return None
            assert self._worker is not None, "what has been sent has been sent to a worker"
            try:
                replies = self._worker.answer_ahead(self._foresight.asked[asked].limit_s)
            except WorkerFailed:
                self._sent.popleft()
                self._undecided += 1
                self.close()
                return None
            if replies is not None:
                self._sent.popleft()
                self._answered += 1
                self._spent_s = self._worker.spent_s
                return replies
            if not self._answered:  # the worker says that it has changed before it has answered anything
                self._sent.popleft()
                self._undecided += 1
            self.close()

    def _send(self) -> None:
        """Send requests to the worker until as many properties are under way as are allowed now."""
        while self._waiting and len(self._sent) < IN_FLIGHT - self._undecided:
            asked = self._waiting.popleft()
            foreseen = self._foresight.asked.get(asked)
            if foreseen is None or self._student.gives_up(foreseen.names):
                continue
            self._sent.append(asked)
            try:
                if self._worker is None:
                    self._worker = self._start_worker(self._student.files)
                    self._answered = 0
                self._worker.ask_ahead(foreseen.packed, self._student.bare_packages)
            except RuntimeError:  # no worker starts here; asking request by request will report that
                self._undecided = IN_FLIGHT
                self.close()

    def close(self) -> None:
        """End the worker; properties that it has not answered will be sent again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
