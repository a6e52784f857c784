"""Looking ahead: a worker gets all requests of a property at once, and a property may only pass this way, never fail.

One request after another, to a new process for each property, takes most of a submission's time. So the rehearsal
records what each property asks the reference for. A submission then gets one worker, which receives these requests
property by property. It imports the submission anew for each property, and ends when the submission has left something
behind in the process. The hidden tests run on the replies, and have to ask for exactly what was recorded. A property
passes when all its cases do; any other property is judged again, request by request, in a worker of its own.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ..sandbox.launch import Operation, WorkerFailed, WorkerLike
from ..sandbox.protocol import Message, ProtocolError, payload, unpack
from .student import StartWorker, Student

IN_FLIGHT = 2  # properties: while the judge looks at one, the worker computes the next
PATIENCE, LEAST_S, MOST_S = 50, 0.2, 2.0  # the time limit is 50 times what the reference needed, within 0.2 to 2 s
MOST_REMEMBERED = 4096  # passes; one is some KiB

Verdicts = Mapping[str, Mapping[str, Any]]  # by test: outcome and numbers, as the JSON report keeps them
Decide = Callable[[Student], Verdicts | None]  # runs the tests of a property; None if one of them does not pass


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


@dataclass(frozen=True)
class Foreseen:
    """What a property asked the reference for.

    Attributes:
        names: The classes and functions that it loads.
        requests: A fingerprint of each request.
        packed: All of them, ready to be sent.
        limit_s: Wall-clock seconds that a submission gets for all of them.
    """

    names: frozenset[str]
    requests: Sequence[Any]
    packed: Tensor
    limit_s: float


class Recorder:
    """A worker for the reference that records the requests of one property."""

    def __init__(self, start_worker: StartWorker) -> None:
        """Record nothing yet; ``start_worker`` gives the worker that does the work."""
        self._start_worker = start_worker
        self._files: Mapping[str, str] | None = None
        self._names: set[str] = set()
        self._requests: list[Any] = []
        self._message: Message | None = Message()
        self._spent_s = 0.0

    def start(self, files: Mapping[str, str]) -> Recorder:
        """Hold these files; a property that needs two versions of the files cannot be foreseen."""
        self._files = self._files or files
        if files != self._files:
            self._message = None
        self._worker: WorkerLike = self._start_worker(files)
        return self

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Record the request and pass it on."""
        self._names |= {arguments["name"] for operation, arguments in operations if operation == "load"}
        self._requests.append(fingerprint(operations))
        try:
            if self._message is not None:
                self._message.add(operations)
        except ProtocolError:
            self._message = None  # too large for one message
        started = time.monotonic()
        try:
            return self._worker.request(operations, timeout_s)
        finally:
            self._spent_s += time.monotonic() - started

    @property
    def spent_s(self) -> float:
        """Seconds that the real worker charged for the last request."""
        return self._worker.spent_s

    def close(self) -> None:
        """End the real worker."""
        self._worker.close()

    def foreseen(self) -> Foreseen | None:
        """All recorded requests; None if there were none, or too many for one message."""
        if self._message is None or not self._requests:
            return None
        packed = torch.frombuffer(bytearray(self._message.packed()), dtype=torch.uint8)
        limit_s = min(max(PATIENCE * self._spent_s, LEAST_S), MOST_S)
        return Foreseen(frozenset(self._names), self._requests, packed, limit_s)


def fingerprint(value: Any) -> Any:
    """Something to compare by: equal for two values only if a worker could not tell them apart."""
    if isinstance(value, Tensor):
        return payload(value)
    if isinstance(value, dict):
        return "dict", [(key, fingerprint(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [fingerprint(item) for item in value]
    return type(value), repr(value)  # 1, 1.0 and True are equal, and so are 0.0 and -0.0


class _Unforeseen(Exception):
    """A request that was not recorded, or has no reply."""


class Replayed:
    """Stands in for a worker: gives the replies that are there already, while the requests are the recorded ones."""

    spent_s = 0.0

    def __init__(self, foreseen: Foreseen, replies: bytes) -> None:
        """Unpack the replies.

        Raises:
            ProtocolError: If the replies break a rule of the protocol.
        """
        answered = unpack(replies)
        self._pairs = iter(zip(foreseen.requests, answered if isinstance(answered, list) else [], strict=False))
        self._files: Mapping[str, str] | None = None
        self.strayed = False

    def start(self, files: Mapping[str, str]) -> Replayed:
        """Stand for a worker with these files; there are no replies for any other files."""
        self._files = self._files or files
        self.strayed = self.strayed or files != self._files
        return self

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """The reply to the next request."""
        del timeout_s  # the reply has come already
        recorded, reply = next(self._pairs, (None, None))
        if self.strayed:
            raise _Unforeseen
        if isinstance(reply, dict) and reply.keys() in ({"value"}, {"error"}) and recorded == fingerprint(operations):
            return reply
        self.strayed = True
        raise _Unforeseen

    def close(self) -> None:
        """Nothing to end."""


class Foresight:
    """What a judge keeps from one submission to the next: each property's requests, and the replies that have passed.

    A verdict follows from the seed and the replies alone, so replies that have passed once are not judged again.

    Args:
        remembered: How many passing replies to keep, the latest ones.
    """

    def __init__(self, remembered: int = MOST_REMEMBERED) -> None:
        """Hold nothing; the rehearsal fills ``properties``."""
        self.remembered = remembered
        self.properties: dict[str, Foreseen] = {}
        self._passed: OrderedDict[tuple[str, bytes], Verdicts] = OrderedDict()

    def decide(self, prop: str, replies: bytes, student: Student, decide: Decide) -> Verdicts | None:
        """The verdicts of a property's tests on these replies; None if one of them does not pass."""
        key = (prop, hashlib.sha256(replies).digest())
        if key in self._passed:
            self._passed.move_to_end(key)
            return self._passed[key]
        try:
            replayed = Replayed(self.properties[prop], replies)
        except ProtocolError:
            return None
        verdicts = decide(student.met_through(replayed.start))
        if verdicts is None or replayed.strayed:
            return None
        self._passed[key] = verdicts
        if len(self._passed) > self.remembered:
            self._passed.popitem(last=False)
        return verdicts


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
        self._waiting = deque(properties)
        self._sent: deque[str] = deque()
        self._worker: AheadWorker | None = None
        self._answered = 0  # properties, by this worker
        self._undecided = 0  # in a row
        self._spent_s = 0.0

    def decide(self, prop: str, decide: Decide) -> Verdicts | None:
        """The verdicts of the next property if it passes; None if a worker of its own has to decide."""
        replies = self._replies(prop)
        if replies is None:
            return None
        verdicts = self._foresight.decide(prop, replies, self._student, decide)
        if verdicts is None:
            self._undecided += 1
            return None
        self._undecided = 0
        self._student.charge(self._foresight.properties[prop].names, self._spent_s)
        return verdicts

    def decided_plainly(self, passed: bool) -> None:
        """Take note whether a property has passed that a worker of its own decided."""
        if passed and self._undecided >= IN_FLIGHT:
            self._undecided = 0

    def _replies(self, prop: str) -> bytes | None:
        while True:
            self._send()
            if not self._sent or self._sent[0] != prop:
                if self._waiting and self._waiting[0] == prop:
                    self._waiting.popleft()
                return None
            assert self._worker is not None, "what has been sent has been sent to a worker"
            try:
                replies = self._worker.answer_ahead(self._foresight.properties[prop].limit_s)
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
        """Send properties to the worker until as many are under way as are allowed now."""
        while self._waiting and len(self._sent) < IN_FLIGHT - self._undecided:
            prop = self._waiting.popleft()
            foreseen = self._foresight.properties.get(prop)
            if foreseen is None or self._student.gives_up(foreseen.names):
                continue
            self._sent.append(prop)
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
