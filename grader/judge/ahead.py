"""Looking ahead: a submission is asked for whole properties at once, as the reference was, and may only pass so.

Asking one thing after another, of a new process for each property, takes most of a submission's time. So what a
property asks the reference for is recorded at the rehearsal. A submission gets one worker, which is sent these requests
property by property; it imports the submission anew for each, and ends where one has left something behind. The hidden
tests then run on the replies, and what they ask for must be what was recorded. Where every case passes, the property
has passed: no verdict but a pass comes from here, and any other is up to a worker of the property's own.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ..sandbox.launch import Operation, WorkerFailed, WorkerLike
from ..sandbox.protocol import Message, ProtocolError, payload, unpack
from .readings import Read
from .student import StartWorker, Student

IN_FLIGHT = 2  # properties: while the judge looks at one, the worker computes the next
PATIENCE, LEAST_S, MOST_S = 50, 0.2, 2.0  # times what the reference needed, in a range; more gets who is asked plainly
MOST_REMEMBERED = 4096  # passes; one is some KiB

Asked = str | Read  # what is asked for at once: all that a property asks for, or all that a reading does
Verdicts = Mapping[str, Mapping[str, Any]]  # by test: outcome and numbers, as the JSON report keeps them
Decide = Callable[[Student], Verdicts | None]  # what the tests of a property say; None if one of them does not pass


class AheadWorker(Protocol):
    """A worker that answers whole properties; see :class:`~grader.sandbox.launch.Worker`."""

    @property
    def spent_s(self) -> float:
        """Seconds that the last property was charged."""

    def ask_ahead(self, requests: Tensor, bare_packages: bool) -> None:
        """Send what a property asks for."""

    def answer_ahead(self, timeout_s: float) -> bytes | None:
        """Receive the replies, in the order of the properties."""

    def close(self) -> None:
        """End the worker."""


StartAhead = Callable[[Mapping[str, str]], AheadWorker]


@dataclass(frozen=True)
class Foreseen:
    """What a property asked the reference for.

    Attributes:
        names: Of what is defined in the files that it imports.
        requests: A fingerprint of each request.
        packed: All of them, ready to be sent.
        limit_s: Wall-clock seconds that a submission gets for all of them.
    """

    names: frozenset[str]
    requests: Sequence[Any]
    packed: Tensor
    limit_s: float


class Recorder:
    """A worker for the reference that notes what it is asked for."""

    def __init__(self, start_worker: StartWorker) -> None:
        """Before the first request."""
        self._start_worker = start_worker
        self._files: Mapping[str, str] | None = None
        self._names: set[str] = set()
        self._requests: list[Any] = []
        self._message: Message | None = Message()
        self._spent_s = 0.0

    def start(self, files: Mapping[str, str]) -> Recorder:
        """Hold those files; a property that asks more than one submission cannot be foreseen."""
        self._files = self._files or files
        if files != self._files:
            self._message = None
        self._worker: WorkerLike = self._start_worker(files)
        return self

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Note the request and pass it on."""
        self._names |= {arguments["name"] for operation, arguments in operations if operation == "load"}
        self._requests.append(fingerprint(operations))
        try:
            if self._message is not None:
                self._message.add(operations)
        except ProtocolError:
            self._message = None  # too much to be asked for at once
        started = time.monotonic()
        try:
            return self._worker.request(operations, timeout_s)
        finally:
            self._spent_s += time.monotonic() - started

    @property
    def spent_s(self) -> float:
        """Seconds that the worker behind it was charged for the last request."""
        return self._worker.spent_s

    def close(self) -> None:
        """End the worker behind it."""
        self._worker.close()

    def foreseen(self) -> Foreseen | None:
        """All that was asked for; None where that was nothing, or too much."""
        if self._message is None or not self._requests:
            return None
        packed = torch.frombuffer(bytearray(self._message.packed()), dtype=torch.uint8)
        limit_s = min(max(PATIENCE * self._spent_s, LEAST_S), MOST_S)
        return Foreseen(frozenset(self._names), self._requests, packed, limit_s)


def fingerprint(value: Any) -> Any:
    """Equal for two values if a worker could not tell one from the other."""
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
    """In place of a worker: gives replies that came at once, as long as the requests are those that were recorded."""

    spent_s = 0.0

    def __init__(self, foreseen: Foreseen, replies: bytes) -> None:
        """Before the first request.

        Raises:
            ProtocolError: If the replies break a rule of the protocol.
        """
        answered = unpack(replies)
        self._pairs = iter(zip(foreseen.requests, answered if isinstance(answered, list) else [], strict=False))
        self._files: Mapping[str, str] | None = None
        self.strayed = False

    def start(self, files: Mapping[str, str]) -> Replayed:
        """Stand for the worker that has answered; there is none for any other files."""
        self._files = self._files or files
        self.strayed = self.strayed or files != self._files
        return self

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """The reply to the next request."""
        del timeout_s  # the reply is there
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
    """What a judge keeps from one submission to the next: what is asked for, and the replies that have passed.

    A verdict is a function of the seed, the replies and the readings, so the same ones need no second look.

    Args:
        remembered: How many passes to keep, the latest ones.
    """

    def __init__(self, remembered: int = MOST_REMEMBERED) -> None:
        """Nothing, before the rehearsal."""
        self.remembered = remembered
        self.asked: dict[Asked, Foreseen] = {}
        self.readings: dict[Read, Any] = {}  # what they find out about the reference
        self._needed: dict[str, Sequence[Read]] = {}
        self._passed: OrderedDict[tuple[Asked, bytes, str], Verdicts] = OrderedDict()

    def note(self, asked: Asked, foreseen: Foreseen | None, needed: Iterable[Read] = ()) -> None:
        """Keep what a property or a reading asked the reference for, if that can be foreseen.

        Args:
            asked: The property, or the reading.
            foreseen: What it asked for; None where that cannot be foreseen.
            needed: The readings that a property uses.
        """
        if foreseen is not None:
            self.asked[asked] = foreseen
        if isinstance(asked, str):
            self._needed[asked] = tuple(needed)

    def order(self, properties: Iterable[str]) -> list[Asked]:
        """What those properties ask for, each reading before the first of them that needs it."""
        order: dict[Asked, None] = {}
        for prop in properties:
            order |= dict.fromkeys(self._needed.get(prop, ()))
            order[prop] = None
        return list(order)

    def read(self, read: Read, replies: bytes, student: Student) -> None:
        """Note what a reading finds out from replies, if it finds the reference's; any other is for its own worker."""

        def like_the_reference(replaying: Student) -> Verdicts | None:
            return {} if read(replaying) == self.readings[read] else None

        known = repr(list(student.readings.found.values()))  # a reading may use earlier ones
        if self._passing(read, known, replies, student, like_the_reference) is not None:
            student.readings.found[read] = self.readings[read]

    def decide(self, prop: str, replies: bytes, student: Student, decide: Decide) -> Verdicts | None:
        """What the tests of a property say about replies; None where they do not all pass."""
        found = [repr(student.readings.of(read)) for read in self._needed.get(prop, ())]
        return self._passing(prop, "\n".join(found), replies, student, decide)

    def _passing(self, asked: Asked, known: str, replies: bytes, student: Student, decide: Decide) -> Verdicts | None:
        key = (asked, hashlib.sha256(replies).digest(), known)
        if key in self._passed:
            self._passed.move_to_end(key)
            return self._passed[key]
        try:
            replayed = Replayed(self.asked[asked], replies)
        except ProtocolError:
            return None
        try:
            verdicts = decide(student.met_through(replayed.start))
        except _Unforeseen:
            return None
        if verdicts is None or replayed.strayed:
            return None
        self._passed[key] = verdicts
        if len(self._passed) > self.remembered:
            self._passed.popitem(last=False)
        return verdicts


class LookingAhead:
    """One submission, asked ahead for its properties in the order of the tests.

    After two properties in a row that did not pass so, the next ones are not tried until one has passed plainly: who
    has much to fail should not wait for it twice.

    Args:
        foresight: Of the judge.
        student: The submission as it is asked plainly. It knows what has hung, and is charged for the time of a pass;
            what does not pass is charged when it is asked for again.
        start_worker: Gives a worker that answers whole properties.
        properties: All that will be decided, in that order.
    """

    def __init__(
        self, foresight: Foresight, student: Student, start_worker: StartAhead, properties: Sequence[str]
    ) -> None:
        """A worker is started when one is needed."""
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
        """The verdicts of the next property, if it passes; None if that is up to a worker of its own."""
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
        """Hear how a property ended that was up to a worker of its own."""
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
            if not self._answered:  # it says that it has changed before it has been asked for anything
                self._sent.popleft()
                self._undecided += 1
            self.close()

    def _send(self) -> None:
        """Have as much under way as there is hope for."""
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
            except RuntimeError:  # no worker starts here, as asking plainly will find and say
                self._undecided = IN_FLIGHT
                self.close()

    def close(self) -> None:
        """End the worker; what it has not answered will be asked for again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
