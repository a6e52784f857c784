"""The untrusted process: receives a submission as text, then answers requests until the judge closes the socket."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import torch

from .ahead import Ahead, invalid_reply
from .channel import Channel, PeerClosed
from .limits import GPU_VARIABLES
from .operations import OUT_OF_MEMORY, Operations
from .protocol import CHANGED, ProtocolError
from .surroundings import Surroundings

REQUESTS_FD = 60  # above all that the fork server has open, below the limit on descriptors
ALLOCATIONS = 10_000  # between two garbage collections: one batch of requests alone is more than Python's 700
MAX_DESCRIPTORS = 256  # the fork server opens a handful


def serve(fd: int, surroundings: Surroundings, kept: list[Any]) -> None:
    """Answer requests that arrive on the socket ``fd``; the first message holds the submission's files.

    The first message back says that this process is locked and has run no student code yet: if it dies before that, it
    is the grader's fault. The second message decides what kind of worker this is: one that answers request by request,
    or one that answers property by property.
    """
    os.closerange(3, fd)
    os.closerange(fd + 1, MAX_DESCRIPTORS)
    channel = Channel(fd)
    channel.send("ready")
    with contextlib.suppress(PeerClosed):
        files = json.loads(as_bytes(channel.receive()["files"]))
        request = channel.receive()
        if "ahead" in request:
            _answer_properties(channel, request, Ahead(files, surroundings, kept))
        else:
            _answer_requests(channel, request, Operations(files), files)


def _answer_requests(
    channel: Channel, request: dict[str, Any], operations: Operations, files: Mapping[str, str]
) -> None:
    while True:
        if "debug" in request:
            from . import debugging  # which the fork server has imported, if it was told to

            operations = debugging.Debugged(operations, files, channel, request["debug"] == "crash")
        reply = operations.perform(request["operations"])
        try:
            channel.send(reply)
        except ProtocolError as error:
            channel.send(invalid_reply(error))
        except MemoryError:
            channel.send(OUT_OF_MEMORY)
        request = channel.receive()


def _answer_properties(channel: Channel, request: dict[str, Any], ahead: Ahead) -> None:
    """Answer some properties at a time until the submission has left something behind; then say only that."""
    while True:
        # The garbage collector counts no tuple of bytes, so this one is not taken for something left behind.
        replies: tuple[bytes, ...] = ()
        while request["ahead"]:
            replies += (ahead.answer(request["ahead"].pop(0), request["bare_packages"]),)
        request.clear()
        if not ahead.nothing_is_left():
            channel.send(CHANGED)
            return
        channel.send({"replies": [torch.frombuffer(bytearray(each), dtype=torch.uint8) for each in replies]})
        request = channel.receive()


def as_bytes(packed: torch.Tensor) -> bytes:
    """The elements of a tensor of dtype uint8, as bytes."""
    return ctypes.string_at(packed.data_ptr(), packed.numel())


def prepare() -> None:
    """Do once, in the fork server, what every worker would have to do: after a fork, each change copies a page."""
    for number in signal.valid_signals():
        if signal.getsignal(number) not in (signal.SIG_DFL, signal.SIG_IGN, None):
            signal.signal(number, signal.SIG_IGN)
    kept = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update({"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"})
    os.environ.update(kept)
    sys.argv[:] = ["worker"]
    gc.set_threshold(ALLOCATIONS)
    torch.set_num_threads(1)
    torch.set_num_threads = _keep_one_thread  # type: ignore[assignment] # the parameter has another name there


def become_worker(rpc_fd: int) -> int:
    """Move the request socket to its descriptor, and standard input and output to the null device; returns the former.

    What student code prints goes to the null device, so no amount of it can fill a disk, block, or slow the judge.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(rpc_fd, REQUESTS_FD)
    for wanted in (0, 1, 2):
        os.dup2(null, wanted)
    return REQUESTS_FD


def _keep_one_thread(number: int) -> None:
    """Stands in for ``torch.set_num_threads``: OpenMP would abort, since a worker can start no thread."""
