"""The untrusted process: receives a submission as text, then answers requests until the judge closes the socket."""

from __future__ import annotations

import contextlib
import gc
import json
import linecache
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from .channel import Channel, PeerClosed
from .limits import GPU_VARIABLES
from .operations import OUT_OF_MEMORY, Operations, invalid, seed
from .protocol import ANEW, MORE, READY, ProtocolError, Values, pack, unpack

REQUESTS_FD = 60  # above all that the fork server has open, below the limit on descriptors
PART_S = 0.05  # after so long, the replies so far are sent: a worker that goes on with a list shows that it does
ALLOCATIONS = 10_000  # between two garbage collections: one batch of requests alone is more than Python's 700
MAX_DESCRIPTORS = 256  # the fork server opens a handful

Make = Callable[[Mapping[str, str], Channel], Operations]  # from a submission's files, and the way to the judge


def make(files: Mapping[str, str], _: Channel) -> Operations:
    """The operations of a worker, unless the fork server was given another module."""
    return Operations(files)


def serve(fd: int, make: Make, *, gpus: bool = False) -> None:
    """Answer requests that arrive on the socket ``fd``; the first message holds the submission's files.

    The first message back says that this process is locked and has run no student code yet: if it dies before that, it
    is the grader's fault. Every later message has a list of requests, and whether to import the submission anew before
    them; the answer is a list of replies. So a process that is asked for one thing after another, and one that is asked
    for a whole property at once, do the same, and student code sees the same frames. It sees one list at a time.
    """
    os.closerange(3, fd)
    os.closerange(fd + 1, MAX_DESCRIPTORS)
    if gpus and torch.cuda.is_available():
        exercise("cuda")  # so that no request is charged for the driver's start, which takes a second or more
        seed()
    linecache.clearcache()  # what this process has read so far is the grader's
    channel = Channel(fd)
    channel.send(READY)
    with contextlib.suppress(PeerClosed):
        files = json.loads(channel.receive())
        operations = make(files, channel)
        while True:
            message = channel.receive()
            how, requests = bytes(message[:1]), iter(unpack(memoryview(message)[1:]))
            if how == ANEW:
                operations.forget()
                renew()
                operations = make(files, channel)
            message.clear()
            channel.send(_replies(operations, requests, channel.send))


def _replies(operations: Operations, requests: Iterator[Any], send: Callable[[bytes], object]) -> bytes:
    """Answer requests, up to the first that finds no memory or has too large a reply; returns the replies, packed.

    The replies so far are sent from time to time, if there are more requests.
    """
    replies, number, began = Values(), 0, time.monotonic()
    try:
        for number, request in enumerate(requests, 1):
            if number > 1 and time.monotonic() - began > PART_S:
                part, replies, began = replies.packed(), Values(), time.monotonic()
                send(MORE)
                send(part)
            reply = operations.perform(request)
            try:
                replies.add(reply)
            except ProtocolError as error:
                if number > 1:
                    break  # it may be too much only beside the others: the judge asks again, one thing after another
                replies.add(invalid(error))
            except MemoryError:
                replies.add(OUT_OF_MEMORY)
            if reply is OUT_OF_MEMORY:
                break
        return replies.packed()
    except ProtocolError as error:
        return pack([invalid(error)] if number == 1 else [])


def renew() -> None:
    """Put back what ordinary code changes in its process: random numbers, and a few settings of torch."""
    seed()
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_flush_denormal(False)


def become_worker(rpc_fd: int) -> int:
    """Move the request socket to its descriptor, and standard input and output to the null device; returns the former.

    What student code prints goes to the null device, so no amount of it can fill a disk, block, or slow the judge.
    """
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(rpc_fd, REQUESTS_FD)
    for wanted in (0, 1, 2):
        os.dup2(null, wanted)
    return REQUESTS_FD


def prepare(*, gpus: bool) -> None:
    """Do once, in the fork server, what every worker would have to do: after a fork, each change copies a page."""
    for number in signal.valid_signals():
        if signal.getsignal(number) not in (signal.SIG_DFL, signal.SIG_IGN, None):
            signal.signal(number, signal.SIG_IGN)
    kept = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    os.environ.clear()
    os.environ.update({"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"})
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"  # to import torch._dynamo makes this folder, unless it exists
    os.environ.update(kept)
    sys.argv[:] = ["worker"]
    gc.set_threshold(ALLOCATIONS)
    torch.set_num_threads(1)
    torch.set_num_threads = _do_nothing  # OpenMP would abort, since a worker can start no thread
    torch.compile = _leave_uncompiled
    torch.compiler.disable = lambda fn=None, *_, **__: _leave_uncompiled(fn)  # torch's own imports torch._dynamo
    seed_none(*(torch.xpu, torch.mtia) if gpus else (torch.cuda, torch.xpu, torch.mtia))
    torch.backends.cudnn.allow_tf32 = False  # else a float32 convolution on a GPU rounds to 10 bits


def _leave_uncompiled(model: Any = None, **_: Any) -> Any:
    """Stands in for ``torch.compile``, also as a decorator: to compile takes files, processes and minutes."""
    return (lambda function: function) if model is None else model


def seed_none(*kinds: Any) -> None:
    """Have ``torch.manual_seed`` pass over kinds of GPU that are not here: it would write down the whole stack."""
    for kind in kinds:
        kind.manual_seed_all = _do_nothing


def _do_nothing(*_: object, **__: object) -> None:
    """Stands in for functions of torch."""


FILES = {
    "src/exercise.py": """
import math
from collections.abc import Sequence
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def apply(input: Tensor, cos: Tensor) -> Tensor:
    first, second = input.chunk(2, dim=-1)
    return (input.float() * cos + torch.cat((-second, first), dim=-1)).to(input.dtype)


class Exercise(nn.Module):
    def __init__(self, size: int, dtype: Optional[torch.dtype] = None, device: str = "cpu") -> None:
        super().__init__()
        if size % 2:
            raise ValueError(f"size={size} is odd")
        self.weight = nn.Parameter(torch.empty(size, dtype=dtype, device=device))
        theta = 10000.0 ** (-torch.arange(0, 4, dtype=torch.float32, device=device) / 4)
        torch.polar(theta, theta).to(torch.complex64).abs()
        angles = torch.outer(torch.arange(4, dtype=torch.float32, device=device), theta)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", torch.sin(angles).to(dtype or torch.float32), persistent=False)
        self.several = isinstance(size, Sequence)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            nn.init.normal_(self.weight)
        generator = torch.Generator(self.weight.device).manual_seed(1)
        torch.randn(3, generator=generator, device=self.weight.device).sort()
        with torch.no_grad():
            self.weight.uniform_(-1.0, 1.0, generator=generator)

    def extra_repr(self) -> str:
        return f"{math.prod(self.weight.shape)}"

    def forward(self, input: Tensor) -> Tensor:
        if not torch.is_floating_point(input):
            outside = (input < 0) | (input >= len(self.weight))
            ids = torch.where(outside, 0, input - 0)
            rows = F.embedding(ids, self.weight.unsqueeze(-1)) + self.weight.unsqueeze(-1)[ids]
            return rows.masked_fill(outside.unsqueeze(-1), 0.0) * ~outside.unsqueeze(-1)
        mean_square = input.float().pow(2).mean(-1, keepdim=True) + input.float().square().mean(-1, keepdim=True)
        normalised = input.float() * torch.rsqrt(mean_square + 1e-5) + input.float() / torch.sqrt(mean_square + 1e-5)
        mixed = nn.Linear(4, 4, device=input.device)(normalised)
        normalised = normalised + 0 * torch.einsum("bi,ci->bc", mixed, mixed).softmax(-1).sum()
        output = (normalised.unflatten(-1, (-1, 2)).flatten(-2) * self.weight).to(input.dtype)
        return apply(output, self.cos[0]) - apply(output, self.sin[:1].expand(2, 4))
""",
}


def exercise_requests(device: str) -> list[list[tuple[str, dict[str, Any]]]]:
    """The operations on a submission, with values on that device."""
    ones = torch.ones(2, 4).to(device)
    exercise = {"number": 0, "name": "Exercise", "arguments": {"size": 4, "device": device}}
    ids = torch.tensor([[0, 3]]).to(device)
    return [
        [("load", {"module": "src.exercise", "name": "Exercise"})],
        [("load", {"module": "src.exercise", "name": "apply"})],
        [("construct", exercise), ("parameters", {"target": 0})],
        [("assign", {"target": 0, "values": [2.0]}), ("call", {"target": 0, "arguments": [ones]})],
        [("assign", {"target": 0, "values": [ones[0]]}), ("observe", {"target": 0, "arguments": [ones]})],
        [("backward", {"target": 0, "arguments": [ones], "upstream": ones})],
        [("backward", {"target": "apply", "arguments": [ones.half(), ones], "upstream": ones.half()})],
        [("backward", {"target": 0, "arguments": [ids], "upstream": torch.ones(1, 2, 1).to(device)})],
        [("method", {"target": 0, "name": "to", "arguments": [torch.bfloat16]}), ("buffers", {"target": 0})],
        [("method", {"target": 0, "name": "to", "arguments": ["cpu"]}), ("parameters", {"target": 0})],
        [("method", {"target": 0, "name": "to", "arguments": [device]}), ("buffers", {"target": 0})],
        [("method", {"target": 0, "name": "train", "arguments": [False]}), ("state_dict", {"target": 0})],
        [("method", {"target": 0, "name": "reset_parameters", "arguments": []}), ("parameters", {"target": 0})],
        [("construct", {"number": 1, "name": "Exercise", "arguments": {"size": 3}})],
        [("call", {"target": 0, "arguments": [torch.ones(3, 5)]})],
        [("load", {"module": "src.missing", "name": "missing"})],
    ]


def exercise(device: str) -> None:
    """Do all of these requests on a device, with the grader's own code, then forget it; what torch has cached stays.

    So whatever Python and torch import, initialise or cache at first use is there before a worker is forked.
    """
    operations = Operations(FILES)
    unpack(_replies(operations, iter(unpack(pack(exercise_requests(device)))), len))
    operations.forget()
    try:
        pack(object())
    except ProtocolError:
        str(torch.ones(2).to(device))
