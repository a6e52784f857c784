"""Record and replay: the requests of whole properties are sent at once, and the hidden tests run on the replies.

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
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from grader.core.sandbox.handle import Operation, Worker, WorkerFailed, as_sent
from grader.core.sandbox.protocol import Kind

from .record import Exchange, Recording, Replies, error_kind
from .student import Student

IN_FLIGHT = 4  # lists of requests: while the judge looks at the replies to one, the worker answers the next
SAMPLED = 5  # requests of a property that are asked for again, in whole cases

StartReplay = Callable[[Mapping[str, str]], Worker]


class Unforeseen(Exception):
    """A request that was not recorded, or whose reply may differ in another process."""


class Lender:
    """The workers of one submission, each of which serves one user after another: a process costs more than most uses.

    Every user has the submission imported anew, with random numbers and torch's settings as in a new process. A process
    that has ended, or has been killed, does not come back.
    """

    def __init__(self, start: StartReplay) -> None:
        """Start nothing yet; ``start`` gives a new process."""
        self.new = start
        self._task = ""  # that for which workers are lent now; empty for any
        self._idle: dict[str, list[Worker]] = defaultdict(list)  # by task

    @contextmanager
    def only_for(self, task: str) -> Iterator[None]:
        """Inside, lend only workers that have served nothing but this task; for an empty one, as outside, any."""
        self._task = task
        yield
        self._task = ""

    def start(self, files: Mapping[str, str]) -> Worker:
        """A worker for these files, which are always the submitted ones."""
        fitting = [self._idle[self._task], *([] if self._task else self._idle.values())]
        idle = next(filter(None, fitting), None)
        worker = idle.pop() if idle else self.new(files)
        worker.lend(self._idle[self._task].append)
        return worker

    def end_idle(self, *tasks: str) -> None:
        """End the unused processes of some tasks, or of all, so that the next request starts a new one."""
        for task in tasks or self._idle:
            while self._idle[task]:
                self._idle[task].pop().kill()


class Replayed:
    """Stands in for a worker: returns replies received earlier, as long as the requests match the recording."""

    spent_s = 0.0

    def __init__(self, replies: Replies) -> None:
        """Stand at no case yet."""
        self._replies = replies
        self._loads = dict(replies.answered(replies.recording.loads))
        self._rest: Iterator[Exchange] = iter(())

    def begin_case(self, place: int) -> None:
        """Go to the first request of a case."""
        self._rest = self._replies.answered(self._replies.recording.cases[place])

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """The reply to the next request; raises ``Unforeseen`` if that is not the recorded one, or met a limit."""
        del timeout_s  # the reply has come already
        asked = as_sent(operations)
        if any(operation == "load" for operation, _ in operations):
            found = self._loads.get(asked)
        else:
            then, reply = next(self._rest, (b"", {}))
            found = reply if then == asked else None
        if found is None or error_kind(found) == Kind.MEMORY_EXCEEDED:
            raise Unforeseen
        return dict(found)

    def close(self) -> None:
        """Nothing to end."""


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
        self._recordings, self._student, self._start_worker = recordings, student, start_worker
        self._waiting = deque(prop for prop in properties if prop in recordings)
        self._sent: deque[str] = deque()
        self._worker: Worker | None = None
        self._unanswered: set[str] = set()  # names of a list without an answer: no more lists with these are sent

    def packed(self, prop: str) -> bytes | None:
        """The replies to the next property, packed; None if there are none."""
        self._send()
        if self._sent and self._sent[0] == prop:
            return self._receive()
        if self._waiting and self._waiting[0] == prop:
            self._waiting.popleft()
        return None

    def answers_alike(self, before: Mapping[str, Replies], key: str, start_worker: StartReplay) -> bool:
        """Whether another worker replies as before when asked for some cases of some properties, request by request.

        Args:
            before: By property, in the order in which they are asked for.
            key: Which cases are chosen follows from it.
            start_worker: Gives the other worker.
        """
        asked = {prop: sampled_requests(self._recordings[prop], f"{key} {prop}") for prop in before}
        worker: Worker | None = None
        try:
            worker = start_worker(self._student.files)
            for prop, places in asked.items():
                for number, place in enumerate(places):
                    worker.post(self._recordings[prop].singly[place], anew=number == 0)
            return all(
                before[prop].are_like(places, self._answers(worker, prop, len(places)))
                for prop, places in asked.items()
            )
        except (WorkerFailed, RuntimeError):
            return False
        finally:
            if worker is not None:
                worker.close()

    def _answers(self, worker: Worker, prop: str, number: int) -> Iterator[bytes]:
        """The replies to single requests of a property."""
        for _ in range(number):
            yield worker.replies(self._student.time.silence_s)
            self._student.time.charge(self._recordings[prop].names, worker.spent_s)

    def _receive(self) -> bytes | None:
        """Wait for the replies to the list sent first; its time is charged even if none come."""
        assert self._worker is not None, "what has been sent has been sent to a worker"
        recording = self._recordings[self._sent.popleft()]
        packed = None
        try:
            packed = self._worker.replies(self._student.time.list_s(recording.names), self._student.time.silence_s)
        except WorkerFailed as failure:
            self._unanswered |= recording.names
            self._student.time.note_silence(failure)
        self._student.time.charge(recording.names, self._worker.spent_s)
        if packed is None:
            self.close()
        return packed

    def _send(self) -> None:
        """Send lists to the worker until the limit of pending lists is reached."""
        while len(self._sent) < IN_FLIGHT and self._waiting:
            prop = self._waiting.popleft()
            recording = self._recordings[prop]
            names, student = recording.names, self._student
            if self._unanswered & names or student.gives_up(names) or student.time.is_short(names):
                continue
            self._sent.append(prop)
            try:
                self._worker = self._worker or self._start_worker(self._student.files)
                self._worker.post(recording.packed, anew=True)
            except RuntimeError:  # no worker starts here; asking request by request will report that
                self.close()
                self._waiting.clear()

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
            places += recording.cases[case]
    return [*recording.loads, *places]
