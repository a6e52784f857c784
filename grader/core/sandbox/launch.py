"""The judge's end of the sandbox: starts the fork server (zygote) and hands out workers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from typing import Any

from grader.shared import second_device

from .channel import Channel
from .handle import Worker
from .limits import LAYERS, Isolation, Limits
from .started import start, taken_over

# What imports torch._dynamo at its first use; to fill a table with random numbers on the device "meta" does, too. A
# worker without it imports it by itself, which takes a second more, and perhaps longer than a request may.
USES_DYNAMO = re.compile(
    r"checkpoint|dynamo|torch\.compiler\b(?!\.disable)|torch\.optim|torch\.func\b|flex_attention|gradcheck|[\"']meta[\"']"
    r"|use_deterministic|custom_op|DispatchMode|skip_init|torch\.testing|jit\.trace"
)


@lru_cache(64)  # a submission gets several workers
def _uses_dynamo(text: str) -> bool:
    return USES_DYNAMO.search(text) is not None


def on_gpus(devices: Sequence[str]) -> bool:
    """Whether workers need a GPU's driver."""
    return any(device not in ("cpu", second_device.DEVICE) for device in devices)


class Zygote:
    """The fork server's process, started once for a judge: names say zygote, texts say fork server."""

    def __init__(
        self,
        limits: Limits,
        devices: Sequence[str] = ("cpu",),
        without: Collection[str] = (),
        special: str = "",
    ) -> None:
        """Start it in the strongest isolation that this machine offers; it warms up while the caller goes on.

        Args:
            limits: What a submission may use.
            devices: What workers may use. A GPU's driver needs what the layers forbid, so no layer is applied then;
                a simulated device is one that the caller has found to work with this torch.
            without: Layers to leave out, to test the others.
            special: A module whose ``make(files, channel)`` gives workers operations that may ask back, for
                :meth:`Worker.converse`; empty for the usual ones.
        """
        cuda = on_gpus(devices)
        wanted = [] if cuda else [layer for layer in LAYERS if layer not in without]
        contained = "namespaces" in wanted
        started = taken_over(cuda, contained, special) or start(cuda, contained, special)
        self._process, self._control, self._no_container = started.process, started.control, started.no_container
        self._answers = self._control.makefile("rb")
        # Inside the container there is only one user; outside, an ordinary user has no rights to drop.
        hidden, root = self._no_container == "", os.geteuid() == 0
        inner = [layer for layer in wanted if layer != "user" or (root and not hidden)]
        configuration = {
            "limits": asdict(limits),
            "layers": inner,
            "files_are_hidden": hidden,
            "gpus": cuda,
            "second_device": any(map(second_device.is_here, devices)),
            "special": special,
        }
        with contextlib.suppress(BrokenPipeError):  # it has died; whoever waits for its answer is told
            self._control.sendall(json.dumps(configuration).encode() + b"\n")

    @cached_property
    def isolation(self) -> Isolation:
        """The layers that hold on this machine; waits until the fork server has tried them and is warm."""
        problems = self._answer()["problems"]
        held = {layer for layer, problem in problems.items() if not problem}
        missing = {layer: problem for layer, problem in problems.items() if problem}
        if self._no_container:
            missing["namespaces"] = self._no_container
        elif self._no_container is not None:
            held.add("namespaces")
        return Isolation(frozenset(held), missing)

    def start(self, files: Mapping[str, str]) -> Worker:
        """A fresh worker that holds the text of ``files`` and has imported none of it yet."""
        _ = self.isolation  # waits until the fork server is ready
        ours, theirs = socket.socketpair()
        with ours, theirs:
            if hasattr(socket, "SO_PASSCRED"):
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            command = {"start": True, "dynamo": any(map(_uses_dynamo, files.values()))}
            socket.send_fds(self._control, [json.dumps(command).encode() + b"\n"], [theirs.fileno()])
            pid = int(self._answer()["pid"])
            channel = Channel(ours.detach())
        channel.send(json.dumps(dict(files)).encode())  # intake limits their size
        return Worker(channel, lambda grace_s: self._command({"reap": pid, "grace_s": grace_s}))

    def _command(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Have the fork server carry out one command; returns its answer."""
        self._control.sendall(json.dumps(command).encode() + b"\n")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise RuntimeError("the fork server has died")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the fork server's process; wait until it has closed its socket and, if it is our child, has ended."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            self._answers.read()
        self._answers.close()
        self._control.close()
        self._process.wait()
