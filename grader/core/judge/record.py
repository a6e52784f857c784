"""Records what the hidden tests ask the reference for, so that a submission can be asked for it in one go."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.core.sandbox.handle import Operation, WorkerLike
from grader.core.sandbox.protocol import Message, ProtocolError, pack

from .kept import identity
from .student import StartWorker

PATIENCE, LEAST_S, MOST_S = 50, 0.5, 2.0  # the time limit is 50 times what the reference needed, within 0.5 to 2 s
SAME = 2.0**-12  # of the largest number of a reply: the same code gives the same numbers, up to their last bits


@dataclass(frozen=True)
class Recording:
    """What a property has asked the reference for.

    Attributes:
        names: The classes and functions that it loads.
        cases: For each case, its requests in order, as :func:`recorded` gives them, and their places in the list.
        loads: The requests that import files, and their places.
        packed: All requests, for the worker.
        singly: Each request, as a list of its own.
        spent_s: Seconds that the reference needed.
    """

    names: frozenset[str]
    cases: Sequence[Sequence[tuple[Any, int]]]
    loads: Sequence[tuple[Any, int]]
    packed: bytes
    singly: Sequence[bytes]
    spent_s: float

    @property
    def limit_s(self) -> float:
        """Seconds that a submission gets for it."""
        return min(max(PATIENCE * self.spent_s, LEAST_S), MOST_S)


class Recorder:
    """A worker for the reference that records the requests of one property."""

    def __init__(self, start_worker: StartWorker) -> None:
        """Record nothing yet; ``start_worker`` gives the worker that does the work."""
        self._start_worker = start_worker
        self._started = 0
        self._names: set[str] = set()
        self._cases: list[list[tuple[Any, int]]] = []
        self._loads: list[tuple[Any, int]] = []
        self._number = 0
        self._singly: list[bytes] = []
        self._message: Message | None = Message()
        self._spent_s = 0.0

    def start(self, files: Mapping[str, str]) -> Recorder:
        """Start the real worker with these files; a property that needs two workers cannot be replayed."""
        self._started += 1
        self._worker: WorkerLike = self._start_worker(files)
        return self

    def begin_case(self) -> None:
        """Note that the requests from now on belong to the next case."""
        self._cases.append([])

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Record the request and pass it on."""
        loaded = {arguments["name"] for operation, arguments in operations if operation == "load"}
        self._names |= loaded
        (self._loads if loaded else self._cases[-1]).append((recorded(operations), self._number))
        self._number += 1
        try:
            if self._message is not None:
                self._message.add(operations)
                self._singly.append(pack([operations]))
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

    def recording(self) -> Recording | None:
        """All that was recorded; None if there was nothing, too much for one message, or a second worker."""
        if self._message is None or self._number == 0 or self._started > 1:
            return None
        packed = self._message.packed()
        return Recording(frozenset(self._names), self._cases, self._loads, packed, self._singly, self._spent_s)


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


def alike(first: Any, second: Any) -> bool:
    """Whether two replies say the same, up to the last bits of numbers; errors of one kind do, whatever they say."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return _same_numbers(first, second)
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        if "error" in first and "error" in second:
            return bool(error_kind(first) == error_kind(second))
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(alike, first, second))
    return bool(first == second)


def error_kind(reply: Mapping[str, Any]) -> Any:
    """The kind of error that a reply holds; None if it holds a value."""
    error = reply.get("error")
    return error.get("kind") if isinstance(error, dict) else None


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
