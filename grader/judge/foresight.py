"""What a judge knows in advance: the requests of each property and reading, and the replies that pass.

The rehearsal runs the hidden tests on the reference and records their requests. The tests of a submission can then run
on replies that came ahead, as long as they ask for exactly what was recorded. A reading is a function that finds out
something for several properties (:mod:`.readings`); its requests are recorded separately.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..sandbox.handle import Operation, WorkerLike
from ..sandbox.protocol import Message, ProtocolError, unpack
from .kept import identity
from .readings import Read
from .student import StartWorker, Student

PATIENCE, LEAST_S, MOST_S = 50, 0.5, 2.0  # the time limit is 50 times what the reference needed, within 0.5 to 2 s
MOST_REMEMBERED = 4096  # properties and readings that passed; the verdicts of one take some KiB

Asked = str | Read  # whose requests are asked together: a property's, named by its id, or a reading's
Verdicts = Mapping[str, Mapping[str, Any]]  # by test: outcome and numbers, as the JSON report keeps them
Decide = Callable[[Student], Verdicts | None]  # runs the tests of a property; None if one of them does not pass


@dataclass(frozen=True)
class Foreseen:
    """What a property or a reading asked the reference for.

    Attributes:
        names: The classes and functions that it loads.
        requests: Each request in order, as :func:`recorded` gives it.
        packed: All of them, as bytes for the fork server.
        spent_s: Seconds that the reference needed.
    """

    names: frozenset[str]
    requests: Sequence[Any]
    packed: Tensor
    spent_s: float


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
        """Start the real worker with these files; a property that needs two versions of them cannot be foreseen."""
        self._files = self._files or files
        if files != self._files:
            self._message = None
        self._worker: WorkerLike = self._start_worker(files)
        return self

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Record the request and pass it on."""
        self._names |= {arguments["name"] for operation, arguments in operations if operation == "load"}
        self._requests.append(recorded(operations))
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
        """All recorded requests; None if there were none, too many for one message, or two versions of the files."""
        if self._message is None or not self._requests:
            return None
        packed = torch.frombuffer(bytearray(self._message.packed()), dtype=torch.uint8)
        return Foreseen(frozenset(self._names), self._requests, packed, self._spent_s)


def recorded(operations: Sequence[Operation]) -> list[Any]:
    """A request as it is now, to compare others with: two requests are the same to a worker if these are equal."""
    parts: list[Any] = []
    _list_parts(operations, parts)
    return parts


def _list_parts(value: Any, parts: list[Any]) -> None:
    """Add a value's type and content to ``parts``: of a tensor its bytes, of a number its text."""
    kind = type(value)
    parts.append(kind)
    if kind is str:
        parts.append(value)
    elif kind is list or kind is tuple:
        parts.append(len(value))
        for item in value:
            _list_parts(item, parts)
    elif kind is dict:
        parts += (len(value), *value)
        for item in value.values():
            _list_parts(item, parts)
    elif isinstance(value, Tensor):
        parts += (value.device, value.stride(), *identity(value))
    else:
        parts.append(repr(value))


class _Unforeseen(Exception):
    """A request that was not recorded, or has no reply."""


class Replayed:
    """Stands in for a worker: gives replies that came ahead, as long as the requests are the recorded ones.

    Attributes:
        strayed: Whether a request was not the recorded one, or the files have changed.
    """

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
        """The reply to the next request; raises ``_Unforeseen`` if that is not the recorded one."""
        del timeout_s  # the reply has come already
        then, reply = next(self._pairs, ((), None))
        if self.strayed:
            raise _Unforeseen
        if isinstance(reply, dict) and reply.keys() in ({"value"}, {"error"}) and recorded(operations) == then:
            return reply
        self.strayed = True
        raise _Unforeseen

    def close(self) -> None:
        """Nothing to end."""


class Foresight:
    """What a judge keeps from one submission to the next: the requests, and the replies that have passed.

    A verdict follows from the seed, the replies and the readings alone, so replies that have passed before, with the
    same readings, are not judged again.

    Args:
        remembered: How many passing replies to keep: those used last.
    """

    def __init__(self, remembered: int = MOST_REMEMBERED) -> None:
        """Hold nothing; the rehearsal notes the requests."""
        self.remembered = remembered
        self.asked: dict[Asked, Foreseen] = {}
        self.readings: dict[Read, Any] = {}  # what each finds out about the reference
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

    def needed(self, prop: str) -> Sequence[Read]:
        """The readings that a property uses."""
        return self._needed.get(prop, ())

    def limit_s(self, batch: Iterable[Asked]) -> float:
        """Seconds that a submission gets for a batch of properties and readings."""
        return min(max(PATIENCE * sum(self.asked[asked].spent_s for asked in batch), LEAST_S), MOST_S)

    def order(self, properties: Iterable[str]) -> list[Asked]:
        """What those properties ask for, each reading before the first of them that needs it."""
        order: dict[Asked, None] = {}
        for prop in properties:
            order |= dict.fromkeys(self.needed(prop))
            order[prop] = None
        return list(order)

    def read(self, read: Read, replies: bytes, student: Student) -> None:
        """Note what a reading finds out from replies, if it finds the same as for the reference.

        If not, nothing is noted, and the reading asks a worker of its own when it is needed.
        """

        def like_the_reference(replaying: Student) -> Verdicts | None:
            return {} if read(replaying) == self.readings[read] else None

        known = repr(list(student.readings.found.values()))  # a reading may use earlier ones
        if self._passing(read, known, replies, student, like_the_reference) is not None:
            student.readings.found[read] = self.readings[read]

    def decide(self, prop: str, replies: bytes, student: Student, decide: Decide) -> Verdicts | None:
        """The verdicts of a property's tests on these replies; None if one of them does not pass."""
        found = [repr(student.readings.of(read)) for read in self.needed(prop)]
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
