"""The requests to a worker and its replies: recorded for the reference, compared between a submission's workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.core.sandbox.handle import Operation, WorkerFailed, WorkerLike, as_sent, is_reply
from grader.core.sandbox.protocol import Kind, ProtocolError, pack, unpack

from .cases import identity

SAME = 2.0**-12  # of the largest number of a reply: the same code gives the same numbers, up to their last bits

Exchange = tuple[bytes, Mapping[str, Any]]  # a request, packed, and its reply


@dataclass(frozen=True)
class Recording:
    """The requests that a property made of the reference.

    Attributes:
        names: The classes and functions that it loads.
        cases: For each case, the places of its requests in the list, in order.
        loads: The places of the requests that import files.
        packed: All requests, for the worker.
        singly: Each request, as a list of its own.
        raising: The cases in which the reference raises an exception.
    """

    names: frozenset[str]
    cases: Sequence[Sequence[int]]
    loads: Sequence[int]
    packed: bytes
    singly: Sequence[bytes]
    raising: frozenset[int] = frozenset()


class Noted:
    """Wraps the workers of one property, and records the requests to them.

    Attributes:
        exchanges: The requests that were answered, with their replies.
        has_ended: Whether a worker has ended, timed out, or reached the limit on memory.
    """

    def __init__(self) -> None:
        """Note nothing yet."""
        self.exchanges: list[Exchange] = []
        self.has_ended = False
        self._workers = 0
        self._names: set[str] = set()
        self._cases: list[list[int]] = []
        self._loads: list[int] = []

    def around(self, worker: WorkerLike) -> Noted:
        """Stand around a worker."""
        self._worker = worker
        self._workers += 1
        return self

    def begin_case(self) -> None:
        """Note that the requests from now on belong to the next case."""
        self._cases.append([])

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Ask the worker, and note its answer."""
        asked = as_sent(operations)
        try:
            reply = self._worker.request(operations, timeout_s)
        except WorkerFailed:
            self.has_ended = True
            raise
        self.has_ended |= error_kind(reply) == Kind.MEMORY_EXCEEDED
        loaded = {arguments["name"] for operation, arguments in operations if operation == "load"}
        self._names |= loaded
        (self._loads if loaded else self._cases[-1]).append(len(self.exchanges))
        self.exchanges.append((asked, reply))
        return reply

    @property
    def of_case(self) -> list[Exchange]:
        """The exchanges of the current case, except those that import files."""
        return [self.exchanges[place] for place in self._cases[-1]]

    @property
    def spent_s(self) -> float:
        """Seconds that the worker charged for the last request."""
        return self._worker.spent_s

    def close(self) -> None:
        """End the worker."""
        self._worker.close()

    def recording(self) -> Recording | None:
        """All requests; None if there were none, too many for one message, or a second worker."""
        singly = [asked for asked, _ in self.exchanges]
        if not singly or self._workers > 1:
            return None
        try:
            packed = pack([request for asked in singly for request in unpack(asked)])
        except ProtocolError:
            return None
        raising = {
            case for case, held in enumerate(self._cases) for place in held if "error" in self.exchanges[place][1]
        }
        return Recording(frozenset(self._names), self._cases, self._loads, packed, singly, frozenset(raising))


class Replies:
    """The replies to the requests of a recording, unpacked when they are needed."""

    def __init__(self, recording: Recording, packed: bytes) -> None:
        """Keep them as they came."""
        self.recording, self._packed = recording, packed

    @cached_property
    def _given(self) -> list[Any]:
        return _unpacked(self._packed)

    @property
    def are_whole(self) -> bool:
        """Whether every request has a reply and the process was left intact."""
        kinds = map(error_kind, self._given)
        return len(self._given) == len(self.recording.singly) and Kind.MEMORY_EXCEEDED not in kinds

    def answered(self, places: Iterable[int]) -> Iterator[Exchange]:
        """The requests at these places that have a reply, with the reply."""
        given, singly = self._given, self.recording.singly
        return ((singly[place], given[place]) for place in places if place < len(given))

    def stub_of(self, case: int) -> Mapping[str, Any] | None:
        """The first error of a case whose requests all begin with a stub, or need an object that a stub has not made.

        None where the reference raises an exception, and where the property asks for several names: a test may excuse
        the stub of another piece.
        """
        if len(self.recording.names) > 1:
            return None
        places = self.recording.cases[case]
        errors = [reply.get("error") for _, reply in self.answered(places)]
        if len(errors) < len(places) or case in self.recording.raising:
            return None
        return errors[0] if errors and _is_stub(errors[0]) and all(map(_needs_a_stub, errors)) else None

    def agree_in_case(self, case: int, others: Iterable[Exchange]) -> bool:
        """Whether other replies agree in one case, as far as the requests are the same."""
        for (request, reply), (then, other) in zip(self.answered(self.recording.cases[case]), others, strict=False):
            if request != then:
                return True
            if Kind.MEMORY_EXCEEDED not in (error_kind(reply), error_kind(other)) and not alike(reply, other):
                return False
        return True

    def are_the_same(self, packed: bytes) -> bool:
        """Whether other replies say the same."""
        return packed == self._packed or alike(self._given, _unpacked(packed))

    def are_like(self, places: Sequence[int], others: Iterable[bytes]) -> bool:
        """Whether other replies, each in its own list, agree at these places."""
        given = [self._given[place : place + 1] for place in places]
        return all(alike(one, _unpacked(other)) for one, other in zip(given, others, strict=True))


def _unpacked(packed: bytes) -> list[Any]:
    """Replies; none if they break a rule of the protocol."""
    try:
        given = unpack(packed)
    except ProtocolError:
        return []
    return given if isinstance(given, list) and all(map(is_reply, given)) else []


def alike(first: Any, second: Any) -> bool:
    """Whether two replies agree up to the last bits of numbers; errors of the same kind agree, whatever their texts."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return _same_numbers(first, second)
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        if "error" in first and "error" in second:
            return error_kind(first) == error_kind(second)
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    return bool(first == second)


def error_kind(reply: Mapping[str, Any]) -> str:
    """The kind of error that a reply holds; empty if it holds a value, or an error without a kind."""
    error = reply.get("error")
    kind = error.get("kind") if isinstance(error, dict) else None
    return kind if isinstance(kind, str) else ""


def _is_stub(error: Any) -> bool:
    """Whether the first operation of a request has reached a stub, as far as its worker tells the truth."""
    fields = error if isinstance(error, dict) else {}
    place = fields.get("place")
    return type(place) is int and place == 0 and fields.get("kind") == Kind.NOT_IMPLEMENTED


def _needs_a_stub(error: Any) -> bool:
    """Whether a stub, or no student code at all, raised this error: then there is no object to send requests to."""
    fields = error if isinstance(error, dict) else {}
    return _is_stub(error) or (fields.get("kind") == Kind.CRASHED and fields.get("frames") == [])


def _same_numbers(first: Tensor, second: Tensor) -> bool:
    if (first.dtype, first.shape, first.device) != (second.dtype, second.shape, second.device):
        return False
    if identity(first) == identity(second):
        return True
    one, two = first.cpu(), second.cpu()
    if one.is_complex():
        one, two = torch.view_as_real(one), torch.view_as_real(two)
    if not one.is_floating_point():
        return False
    one, two = one.double(), two.double()
    finite = one.isfinite()
    if not torch.equal(finite, two.isfinite()) or not torch.equal(one[~finite].nan_to_num(), two[~finite].nan_to_num()):
        return False
    size = float(one[finite].abs().max()) if bool(finite.any()) else 0.0
    return bool(((one - two)[finite].abs() <= SAME * size).all())
