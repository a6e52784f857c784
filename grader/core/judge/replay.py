"""Record and replay: a submission is asked for whole properties at once, and the hidden tests run on its replies.

One request after another, to a new process for each property, takes most of a submission's time. So the rehearsal
records what each property asks the reference for. A submission gets one worker, which answers these lists of requests,
one property after another, importing the submission anew for each. The tests run on the replies as long as they ask for
what was recorded. A property that does not pass this way is asked for in another worker: in one list, or request by
request if its tests ask for more.

No submission may answer one way here and another way there. Where the other worker gives other values to the same
requests, the worse verdict counts; of the properties that pass, one in each task is asked for in a new worker, too.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, Self

from grader.core.sandbox.handle import Operation, WorkerFailed, WorkerLike, is_reply
from grader.core.sandbox.protocol import ProtocolError, unpack

from .record import Recording, alike, error_kind, recorded
from .student import Student

IN_FLIGHT = 4  # lists of requests: while the judge looks at the replies to one, the worker answers the next
MOST_FAILURES = 2  # of a submission: lists without an answer, after which no more are sent
SAMPLED = 5  # requests of a property that are asked for again, in whole cases
OF_THE_MACHINE = {"timed_out", "memory_exceeded"}  # errors that another process need not have, too
MOST_REMEMBERED = 4096  # properties that passed; the verdicts of one take some KiB

Verdicts = Mapping[str, Mapping[str, Any]]  # by test: outcome and numbers, as the JSON report keeps them
Exchange = tuple[Any, Mapping[str, Any]]  # a request, as ``recorded`` gives it, and its reply


class ReplayWorker(WorkerLike, Protocol):
    """A worker that answers lists of requests, too; see :class:`~grader.core.sandbox.handle.Worker`."""

    def lend(self, keep: Callable[[Self], object]) -> None:
        """Have the submission imported anew; give the worker to ``keep`` when it is closed."""

    def post(self, requests: bytes, *, anew: bool) -> None:
        """Send a list of requests, before which the submission may be imported anew."""

    def replies(self, timeout_s: float) -> bytes:
        """Receive the replies to the list that was posted first and has none yet."""

    def request_list(self, requests: bytes, timeout_s: float) -> bytes:
        """Send a list of requests, and receive the replies."""


StartReplay = Callable[[Mapping[str, str]], ReplayWorker]


class Unforeseen(Exception):
    """A request that was not recorded, or has no reply."""


def _unpacked(packed: bytes) -> list[Any]:
    """Replies; none if they break a rule of the protocol."""
    try:
        given = unpack(packed)
    except ProtocolError:
        return []
    return given if isinstance(given, list) and all(map(is_reply, given)) else []


class Replies:
    """The replies to the requests of a recording, unpacked when they are needed."""

    def __init__(self, recording: Recording, packed: bytes) -> None:
        """Keep them as they came."""
        self._recording, self._packed = recording, packed

    @cached_property
    def _given(self) -> list[Any]:
        return _unpacked(self._packed)

    @property
    def are_whole(self) -> bool:
        """Whether every request has a reply, and the process was none the worse for it."""
        return len(self._given) == len(self._recording.singly) and not OF_THE_MACHINE & {*map(error_kind, self._given)}

    def of_case(self, place: int) -> Iterator[Exchange]:
        """The requests of one case, each with its reply, up to the first that has none."""
        return self._answered(self._recording.cases[place])

    def of_loads(self) -> list[Exchange]:
        """The requests that import files, with their replies."""
        return list(self._answered(self._recording.loads))

    def _answered(self, requests: Iterable[tuple[Any, int]]) -> Iterator[Exchange]:
        return ((request, self._given[number]) for request, number in requests if number < len(self._given))

    def agree_in_case(self, place: int, others: Sequence[Exchange]) -> bool:
        """Whether other replies say the same in one case, as far as the same was asked."""
        for (request, reply), (then, other) in zip(self.of_case(place), others, strict=False):
            if request != then:
                return True
            if not OF_THE_MACHINE & {error_kind(reply), error_kind(other)} and not alike(reply, other):
                return False
        return True

    def are_the_same(self, packed: bytes) -> bool:
        """Whether other replies say the same."""
        return packed == self._packed or alike(self._given, _unpacked(packed))

    def are_like(self, places: Sequence[int], others: Sequence[bytes]) -> bool:
        """Whether others, each in a list of its own, say the same at these places."""
        given = [self._given[place : place + 1] for place in places]
        return len(others) == len(given) and all(map(alike, given, map(_unpacked, others)))


class Replayed:
    """Stands in for a worker: gives replies that have come already, as long as the requests are the recorded ones."""

    spent_s = 0.0

    def __init__(self, replies: Replies) -> None:
        """Stand at no case yet."""
        self._replies = replies
        self._loads = replies.of_loads()
        self._rest: Iterator[Exchange] = iter(())

    def start(self, files: Mapping[str, str]) -> Replayed:
        """Stand for a worker with these files."""
        del files  # which are always those that were handed in
        return self

    def begin_case(self, place: int) -> None:
        """Go to the first request of a case."""
        self._rest = self._replies.of_case(place)

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """The reply to the next request; raises ``Unforeseen`` if that is not the recorded one."""
        del timeout_s  # the reply has come already
        asked = recorded(operations)
        if any(operation == "load" for operation, _ in operations):
            found = next((reply for request, reply in self._loads if request == asked), None)
        else:
            then, reply = next(self._rest, (None, {}))
            found = reply if then == asked else None
        if found is None:
            raise Unforeseen
        return dict(found)

    def close(self) -> None:
        """Nothing to end."""


class Compared:
    """Another worker, whose answers are compared with those that the submission has given to the same requests before.

    Attributes:
        answers: The requests of the present case, each with its reply.
        has_ended: Whether the worker has ended, timed out, or reached the limit on memory.
    """

    def __init__(self, replies: Replies | None) -> None:
        """Compare with these; None if there are none."""
        self._replies = replies
        self._place = 0
        self.answers: list[Exchange] = []
        self.has_ended = False

    def around(self, worker: WorkerLike) -> Compared:
        """Stand around a worker."""
        self._worker = worker
        return self

    def begin_case(self, place: int) -> None:
        """Go to the first request of a case."""
        self._place, self.answers = place, []

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Ask the worker, and note its answer."""
        try:
            reply = self._worker.request(operations, timeout_s)
        except WorkerFailed:
            self.has_ended = True
            raise
        self.has_ended |= error_kind(reply) in OF_THE_MACHINE
        if not any(operation == "load" for operation, _ in operations):
            self.answers.append((recorded(operations), reply))
        return reply

    @property
    def differs(self) -> bool:
        """Whether a value of the present case was another one before."""
        return self._replies is not None and not self._replies.agree_in_case(self._place, self.answers)

    @property
    def spent_s(self) -> float:
        """Seconds that the worker charged for the last request."""
        return self._worker.spent_s

    def close(self) -> None:
        """End the worker."""
        self._worker.close()


class Replay:
    """Asks one submission for its properties, in the order of the tests.

    Args:
        recordings: By property, what the rehearsal has recorded.
        student: The submission as it is asked request by request. It knows what has hung, and is charged for the time.
        start_worker: Gives a worker that answers lists of requests.
        properties: All properties to be decided, in order.
    """

    def __init__(
        self,
        recordings: Mapping[str, Recording],
        student: Student,
        start_worker: StartReplay,
        properties: Iterable[str],
    ) -> None:
        """Start nothing yet: the worker is started when it is needed."""
        self._recordings, self._student, self.start_worker = recordings, student, start_worker
        self._waiting = deque(prop for prop in properties if prop in recordings)
        self._sent: deque[str] = deque()
        self._worker: ReplayWorker | None = None
        self._failures = 0

    def packed(self, prop: str) -> bytes | None:
        """The replies to the next property, packed; None if there are none."""
        self._send()
        if self._sent and self._sent[0] == prop:
            return self._receive()
        if self._waiting and self._waiting[0] == prop:
            self._waiting.popleft()
        return None

    def answers_alike(self, before: Mapping[str, Replies], key: str) -> bool:
        """Whether a new worker that is asked for some cases of some properties, request by request, replies as before.

        Args:
            before: By property, in the order in which they are asked for.
            key: Which cases are chosen follows from it.
        """
        asked = {prop: sampled_requests(self._recordings[prop], f"{key} {prop}") for prop in before}
        worker: ReplayWorker | None = None
        try:
            worker = self.start_worker(self._student.files)
            for prop, places in asked.items():
                for number, place in enumerate(places):
                    worker.post(self._recordings[prop].singly[place], anew=number == 0)
            return all(
                before[prop].are_like(places, self._answers(worker, prop, places)) for prop, places in asked.items()
            )
        except (WorkerFailed, RuntimeError):
            return False
        finally:
            if worker is not None:
                worker.close()

    def _answers(self, worker: ReplayWorker, prop: str, places: Sequence[int]) -> list[bytes]:
        """The replies to single requests of a property, within its time."""
        recording, spent_s = self._recordings[prop], 0.0
        replies: list[bytes] = []
        while len(replies) < len(places) and spent_s < recording.limit_s:
            replies.append(worker.replies(recording.limit_s - spent_s))
            spent_s += worker.spent_s
        self._student.charge(recording.names, spent_s)
        return replies

    def _receive(self) -> bytes | None:
        """Wait for the replies to the list that was sent first; its time is charged whether they come or not."""
        assert self._worker is not None, "what has been sent has been sent to a worker"
        recording = self._recordings[self._sent.popleft()]
        packed = None
        try:
            packed = self._worker.replies(recording.limit_s)
        except WorkerFailed:
            self._failures += 1
        self._student.charge(recording.names, self._worker.spent_s)
        if packed is None:
            self.close()
        return packed

    def _send(self) -> None:
        """Send lists to the worker until as many are under way as may be."""
        while len(self._sent) < IN_FLIGHT and self._waiting and self._failures < MOST_FAILURES:
            prop = self._waiting.popleft()
            recording = self._recordings[prop]
            if self._student.gives_up(recording.names):
                continue
            self._sent.append(prop)
            try:
                self._worker = self._worker or self.start_worker(self._student.files)
                self._worker.post(recording.packed, anew=True)
            except RuntimeError:  # no worker starts here; asking request by request will report that
                self._failures = MOST_FAILURES
                self.close()

    def close(self) -> None:
        """End the worker; properties that it has not answered will be sent again."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()


def shuffled(names: Iterable[str], key: str) -> list[str]:
    """Names in an order that follows from the key."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{key} {name}".encode()).digest())


def sampled_requests(recording: Recording, key: str) -> list[int]:
    """The places of the requests of some cases, which follow from the key; requests that import files come first."""
    places: list[int] = []
    for case in map(int, shuffled(map(str, range(len(recording.cases))), key)):
        if len(places) < SAMPLED:
            places += [place for _, place in recording.cases[case]]
    return [*(place for _, place in recording.loads), *places]


class Memory:
    """The replies that have passed, so that replies that have passed before are not judged again.

    A verdict follows from the seed and the replies alone.

    Args:
        remembered: How many properties to keep: those used last.
    """

    def __init__(self, remembered: int = MOST_REMEMBERED) -> None:
        """Remember nothing yet."""
        self.remembered = remembered
        self._passed: OrderedDict[tuple[str, bytes], Verdicts] = OrderedDict()

    def recall(self, prop: str, packed: bytes) -> Verdicts | None:
        """The verdicts of these replies, if they have passed before."""
        key = (prop, hashlib.sha256(packed).digest())
        if key not in self._passed:
            return None
        self._passed.move_to_end(key)
        return self._passed[key]

    def note(self, prop: str, packed: bytes, verdicts: Verdicts) -> None:
        """Keep the verdicts of replies with which every case has passed."""
        self._passed[prop, hashlib.sha256(packed).digest()] = verdicts
        if len(self._passed) > self.remembered:
            self._passed.popitem(last=False)
