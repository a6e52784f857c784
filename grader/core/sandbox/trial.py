"""Finds out by trial which layers hold on this machine: a forked process locks itself and then tries to break out.

In the same way it finds out which parts of Python a locked process cannot read.

Runs in the fork server before its first worker. Nothing is assumed from versions or configuration.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from .limits import Limits
from .lockdown import Lockdown

SEPARATE_LAYERS = ("user", "landlock", "seccomp")
HOLDS = "holds"  # a message of its own, since a trial that dies sends nothing


def layers_that_hold(wanted: Iterable[str], limits: Limits, files_are_hidden: bool) -> dict[str, str]:
    """For each wanted layer, an empty text if it holds, else the problem, such as ``the kernel has no Landlock``."""
    return {layer: _try(layer, limits, files_are_hidden) for layer in SEPARATE_LAYERS if layer in set(wanted)}


def closed_to_workers(places: Iterable[tuple[Path, Path]], lockdown: Lockdown) -> list[Path]:
    """The folders, each given with a file in it, of which a locked process cannot open the file."""
    tried, parent = list(places), os.getpid()

    def read() -> str:
        lockdown.apply(parent)
        return " ".join(str(number) for number, (_, file) in enumerate(tried) if _succeeds(partial(open, file)))

    opened = _in_a_process(read).split()
    return [folder for number, (folder, _) in enumerate(tried) if str(number) not in opened]


def _try(layer: str, limits: Limits, files_are_hidden: bool) -> str:
    """Apply one layer in a separate process and try what it should forbid; returns what went wrong."""
    parent = os.getpid()
    message = _in_a_process(lambda: _attack(layer, limits, files_are_hidden, parent) or HOLDS)
    return "" if message == HOLDS else message or "it exited without an answer"


def _in_a_process(attempt: Callable[[], str]) -> str:
    """What it gives in a process of its own, or the error that it raises; empty if the process ends before."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        message = ""
        try:
            message = attempt()
        except BaseException as error:
            message = f"{error}" or type(error).__name__
        finally:
            with contextlib.suppress(OSError):
                os.write(write_end, message.encode()[:1000])
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as file:
        message = file.read().decode(errors="replace")
    os.waitpid(pid, 0)
    return message


def _attack(layer: str, limits: Limits, files_are_hidden: bool, parent: int) -> str:
    Lockdown([layer], limits, files_are_hidden).apply(parent)
    return next((f"{name} was still possible" for name, attempt in ATTACKS[layer].items() if _succeeds(attempt)), "")


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _trace() -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0) < 0:  # PTRACE_TRACEME
        raise OSError("refused")


ATTACKS: dict[str, dict[str, Callable[[], object]]] = {
    "user": {"becoming root": lambda: os.setresuid(0, 0, 0)},
    "landlock": {
        "reading another user's file": lambda: open("/proc/uptime").close(),
        "listing the root folder": lambda: os.listdir("/"),
    },
    "seccomp": {
        "a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "a fork": lambda: os.fork() or os._exit(0),
        "tracing": _trace,
        "a signal": lambda: os.kill(os.getppid(), 0),
        "opening a file to write": lambda: open(os.devnull, "wb").close(),
    },
}
