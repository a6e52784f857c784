"""The judge's handle of a worker: sends requests to the forked process, waits for replies, and ends it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import torch

from grader.core.messages import Message, quoted, say

from .channel import Allowance, Channel, DeadlineExceeded, PeerClosed, Waited
from .operations import Operations, invalid
from .protocol import ANEW, GO_ON, MORE, READY, Kind, ProtocolError, decode, encode, pack, unpack

START_S = 120.0  # for a worker to be forked and locked, on a machine that may be busy
GRACE_S = 0.2  # for a worker that has closed its socket, to end by itself, so that the signal it dies of can be told

Operation = tuple[str, Mapping[str, Any]]  # what to do, as in operations.py, and with what


class Request(list[Operation]):
    """Operations that are packed once, however often the request is recorded, compared or sent."""

    @cached_property
    def packed(self) -> bytes:
        """The request as a list of its own."""
        return pack([list(self)])


def as_sent(operations: Sequence[Operation]) -> bytes:
    """The bytes of a request."""
    return (operations if isinstance(operations, Request) else Request(operations)).packed


class WorkerFailed(Exception):
    """A worker that gave no valid answer.

    Attributes:
        kind: Of :class:`Kind`: ``TIMED_OUT``, ``CRASHED`` or ``INVALID_REPLY``.
    """

    def __init__(self, kind: str, message: Message) -> None:
        """Remember the kind; the message is for the student."""
        super().__init__(message)
        self.kind, self.message = kind, message


class WorkerLike(Protocol):
    """Anything that speaks the protocol: a sandboxed process, or the same operations in this process."""

    @property
    def spent_s(self) -> float:
        """Seconds charged for the last request."""

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Do the operations in order: ``{"value": ...}`` of the last, or ``{"error": ...}`` of the first that fails."""

    def close(self) -> None:
        """End this use of the worker, and, unless it was lent, the worker with everything it started."""


class Worker:
    """One forked process with one submission's code.

    ``reap`` has the fork server end it, perhaps after a grace in seconds, and tell how it ended.
    """

    def __init__(self, channel: Channel, reap: Callable[[float], Mapping[str, Any]]) -> None:
        """Take over a forked process."""
        self._channel, self._reap = channel, reap
        self._running = True
        self._ready = False
        self._waited = Waited(None)  # until its process number here is known; the fork server may know it by another
        self._is_new = True  # whether the next request imports the submission anew
        self._give_back: Callable[[Worker], object] | None = None
        self._since: Allowance | None = None  # time since the replies to the last list
        self.spent_s = 0.0

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Send one request, of one or more operations, and wait for its answer.

        The worker may compute and sleep for ``timeout_s`` seconds; see :class:`Allowance`.

        Raises:
            WorkerFailed: If there is no answer, or it is malformed. The process has been ended by then.
            RuntimeError: If the process did not start, or someone else has killed it: a person, or a system short of
                memory. Neither is the student's fault.
        """
        try:
            return _only(self.request_list(as_sent(operations), timeout_s, grace_s=GRACE_S))
        except ProtocolError as error:
            raise self._malformed(error) from None

    def converse(self, operations: Sequence[Operation], answer: Callable[[str], str]) -> dict[str, Any]:
        """Send one request to a worker that asks back before it replies; limited only in CPU seconds.

        ``answer`` is given each text that the worker sends meanwhile, and gives the text that it gets.

        Raises:
            WorkerFailed: If the process ends.
        """
        self._wait_until_ready()
        try:
            self._channel.send(GO_ON + as_sent(operations))
            while type(question := unpack(said := self._channel.receive())) is str:
                self._channel.send(pack(answer(question)))
            return _only(said)
        except (ProtocolError, PeerClosed) as error:
            self.kill()
            raise WorkerFailed(Kind.CRASHED, say("the process exited").then(quoted(str(error)))) from None

    def post(self, requests: bytes, *, anew: bool) -> None:
        """Send a packed list of requests, perhaps after importing the submission anew; :meth:`replies` has the answer.

        Raises:
            RuntimeError: If the process did not start, which is not the student's fault.
        """
        self._wait_until_ready()
        self._since = self._since or Allowance(self._waited, math.inf)
        self._channel.post(requests, ANEW if anew else GO_ON)

    def replies(self, timeout_s: float, silence_s: float = math.inf, grace_s: float = 0) -> bytes:
        """The packed replies to the list that was posted first and has none yet; perhaps fewer than requests.

        Args:
            timeout_s: As in :meth:`request`.
            silence_s: For each part of the replies, where the worker sends them in several.
            grace_s: For a process that has closed its socket, to end by itself, so that the signal it dies of is known.

        Raises:
            WorkerFailed: If no replies come in time, or they are malformed. The process has been ended by then.
            RuntimeError: If someone else has killed the process; not without a grace.
        """
        allowance, parts, more = Allowance(self._waited, timeout_s), list[bytearray](), True
        try:
            while more:
                silence = Allowance(self._waited, min(silence_s, timeout_s - allowance.spent_s))
                if more := (message := self._channel.receive(silence)) == MORE:
                    message = self._channel.receive(silence, sum(map(len, parts)))
                parts.append(message)
            return bytes(parts[0]) if len(parts) == 1 else pack([reply for part in parts for reply in _list(part)])
        except DeadlineExceeded:
            self.kill()
            raise WorkerFailed(Kind.TIMED_OUT, say("no answer in time")) from None
        except ProtocolError as error:
            raise self._malformed(error) from None
        except PeerClosed:
            raise WorkerFailed(Kind.CRASHED, self._end(grace_s)) from None
        finally:  # the worker may have computed before the judge waited for it
            before, self._since = self._since, Allowance(self._waited, math.inf)
            self.spent_s = max(allowance.spent_s, min(before.spent_s, timeout_s) if before else 0.0)

    def request_list(self, requests: bytes, timeout_s: float, silence_s: float = math.inf, grace_s: float = 0) -> bytes:
        """Send a list of requests, and wait for the packed replies; as :meth:`post` and :meth:`replies`."""
        self._since = None  # no other list is under way
        self.post(requests, anew=self._is_new)
        self._is_new = False
        return self.replies(timeout_s, silence_s, grace_s)

    def _wait_until_ready(self) -> None:
        """Wait until the worker says that it is ready, which it does before it runs any student code.

        Raises:
            RuntimeError: If it does not say so; student code cannot be the reason.
        """
        if self._ready:
            return
        try:
            allowance = Allowance(self._waited, START_S)
            self._waited = Waited(self._channel.peer(allowance))
            self._ready = self._channel.receive(allowance) == READY
        except (ProtocolError, PeerClosed, DeadlineExceeded):
            self.kill()
        if not self._ready:
            raise RuntimeError("a worker did not start")

    def lend(self, give_back: Callable[[Worker], object]) -> None:
        """Serve one more user, for whom the submission is imported anew; ``close`` then gives a running worker back."""
        self._is_new, self._give_back = True, give_back

    def close(self) -> None:
        """End this use: give the worker back if it was lent and still runs, else kill it."""
        give_back, self._give_back = self._give_back, None
        if self._running and give_back:
            give_back(self)
        else:
            self.kill()

    def kill(self) -> None:
        """Kill the process, even while it is lent."""
        if self._running:
            self._end(0)

    def _malformed(self, error: ProtocolError) -> WorkerFailed:
        self.kill()
        return WorkerFailed(Kind.INVALID_REPLY, say("the reply was {problem}", problem=str(error)))

    def _end(self, grace_s: float) -> Message:
        self._running = False
        self._channel.close()
        self._waited.close()
        usage = self._reap(grace_s)
        if usage["killed_by_a_stranger"] and grace_s:
            raise RuntimeError(
                "a worker was killed from outside the grader, by a person or by the system when out of memory"
            )
        if usage["signal"]:
            return say("the process was killed by signal {n}", n=f"{usage['signal']:.0f}")
        return say("the process exited")


class InProcessWorker:
    """Performs the same operations on copies of the values, in this process and without limits.

    For code that we trust: the reference, and the variants of the self-test.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        """Hold the text of ``files``; nothing is imported yet."""
        self._operations = Operations(files)
        self.spent_s = 0.0  # trusted code is not charged

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Do one thing after another; see :class:`WorkerLike`."""
        del timeout_s  # nothing here can be interrupted
        reply = self._operations.perform(*unpack(as_sent(operations)))
        tensors: list[torch.Tensor] = []
        try:
            tree = encode(reply, tensors)
        except ProtocolError as error:
            return invalid(error)
        return dict(decode(tree, [tensor.clone() for tensor in tensors]))

    def close(self) -> None:
        """Nothing to end."""


def is_reply(reply: object) -> TypeGuard[dict[str, Any]]:
    """Whether it has the form of a reply: a value, or an error."""
    return isinstance(reply, dict) and reply.keys() in ({"value"}, {"error"})


def _list(replies: bytes | bytearray) -> list[Any]:
    """Packed replies; raises ``ProtocolError`` if they are no list."""
    unpacked = unpack(replies)
    if type(unpacked) is not list:
        raise ProtocolError("a malformed reply")
    return unpacked


def _only(replies: bytes | bytearray) -> dict[str, Any]:
    """The one reply in packed replies; raises ``ProtocolError`` if there is not one."""
    match _list(replies):
        case [dict(reply)] if is_reply(reply):
            return reply
    raise ProtocolError("a malformed reply")
