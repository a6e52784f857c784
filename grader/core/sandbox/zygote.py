"""The fork server (zygote): has torch, but no test, expected value or submission, and forks a worker on request.

Only the fork server forks, kills and reaps workers, so a process number never means another process by mistake, and no
worker outlives it. Lines of JSON arrive on the control socket. The first is the configuration: ``limits``, the wanted
``layers``, whether a container already hides files (``files_are_hidden``), whether workers may use ``gpus``, and
whether they get the ``second_device``, and a ``special`` module for their operations; the answer has the ``problems``
of each layer. Then come commands; each is answered by a line before the next:

* ``{"start": true, "dynamo": ...}`` with a descriptor to take requests from: forks a worker and answers
  ``{"pid": ...}``; with ``dynamo`` the worker and all after it have imported ``torch._dynamo``, which takes a second;
* ``{"reap": pid, "grace_s": ...}``: kills that worker if it still runs after the grace, and answers how it ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import linecache
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from grader.shared import second_device

from . import worker
from .importer import Library, places
from .limits import Limits
from .lockdown import LINUX, Lockdown
from .operations import seed
from .trial import closed_to_workers, layers_that_hold

# A flag of code from Python 3.14 on; before, the first constant of every function is its docstring or None.
HAS_DOCSTRING = getattr(inspect, "CO_HAS_DOCSTRING", inspect.CO_OPTIMIZED)
USEFUL_MODULES = (  # so that no worker spends time on them
    *("abc", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum", "fractions"),
    *("functools", "heapq", "inspect", "itertools", "json", "logging", "math", "numbers", "operator", "pathlib"),
    *("pprint", "random", "re", "statistics", "string", "textwrap", "time", "types", "typing", "typing_extensions"),
    *("uuid", "warnings", "weakref", "torch.nn.functional", "torch.nn.init", "torch.utils.checkpoint"),
)

Serve = Callable[[int], None]  # answers the requests on a descriptor


def main(control_fd: int) -> None:
    """Serve commands until the judge closes the control socket; then end all workers, and this process."""
    control = socket.socket(fileno=control_fd)
    configuration, _ = _line(control)
    if not configuration:
        os._exit(0)
    wanted = json.loads(configuration)
    limits, hidden, gpus = Limits(**wanted["limits"]), bool(wanted["files_are_hidden"]), bool(wanted["gpus"])
    make = importlib.import_module(wanted["special"]).make if wanted["special"] else worker.make
    _forget_the_repository()
    worker.prepare(gpus=gpus)
    problems = layers_that_hold(wanted["layers"], limits, hidden)
    lockdown = Lockdown([layer for layer, problem in problems.items() if not problem], limits, hidden, gpus)
    if closed := closed_to_workers(places(), lockdown):
        Library(closed)
    for name in USEFUL_MODULES:
        importlib.import_module(name)
    _warm_up(gpus, bool(wanted["second_device"]))
    gc.enable()  # the command that started this process has turned it off
    _settle(lockdown)
    running: set[int] = set()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the judge has ended
        _answer(control, {"problems": problems})
        _obey(control, lockdown, limits, running, partial(worker.serve, make=make, gpus=gpus))
    for pid in running:
        _reap(pid, 0, limits)
    os._exit(0)


def _obey(control: socket.socket, lockdown: Lockdown, limits: Limits, running: set[int], serve: Serve) -> None:
    """Carry out commands until the judge closes the socket; ``running`` then holds the workers that are left."""
    while True:
        line, descriptors = _line(control)
        if not line:
            return
        command = json.loads(line)
        if "start" in command:
            if command["dynamo"] and "torch._dynamo" not in sys.modules:
                with contextlib.suppress(Exception):  # then the student's import of it says why
                    importlib.import_module("torch._dynamo")
                _settle(lockdown)
            pid = _start(control, lockdown, serve, *descriptors)
            running.add(pid)
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = _reap(command["reap"], command["grace_s"], limits)
            running.discard(command["reap"])
        _answer(control, answer)


def _line(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next line from the judge, and descriptors that came with it; an empty line if the judge has ended."""
    line, descriptors = b"", list[int]()
    while not line.endswith(b"\n"):
        part, received, _, _ = socket.recv_fds(control, 1024, 1)
        if not part:
            return b"", []
        line += part
        descriptors += received
    return line, descriptors


def _answer(control: socket.socket, answer: Mapping[str, Any]) -> None:
    control.sendall(json.dumps(answer).encode() + b"\n")


def _start(control: socket.socket, lockdown: Lockdown, serve: Serve, rpc_fd: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            control.close()
            rpc_fd = worker.become_worker(rpc_fd)
            lockdown.apply(parent)
            serve(rpc_fd)
            status = 0
        finally:
            os._exit(status)  # whatever happens, a worker never runs the fork server's code below
    os.close(rpc_fd)
    return pid


def _reap(pid: int, grace_s: float, limits: Limits) -> dict[str, Any]:
    """End a worker and tell how it ended.

    A worker cannot send signals, and the kernel sends SIGKILL to one that has used up its CPU time. If a worker dies of
    SIGKILL before that, and not by this function, something outside the grader killed it.
    """
    end = time.monotonic() + grace_s
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    while not ended and time.monotonic() < end:
        time.sleep(0.001)
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    ended_by_itself = bool(ended)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    cpu_s = usage.ru_utime + usage.ru_stime
    return {
        "signal": signal_number,
        "killed_by_a_stranger": ended_by_itself and signal_number == signal.SIGKILL and cpu_s < limits.submission_s,
    }


def _warm_up(gpus: bool, simulate: bool) -> None:
    """Run each lazy initialiser once, on one thread, so that no worker spends time on it after its fork.

    Nothing runs on the CPU where workers use GPUs: the first backward would count the devices, and start the GPU's
    driver for that, which does not survive a fork. Each worker starts its own.
    """
    if not gpus:
        total = torch.ones(2, requires_grad=True).sum()
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        # The first backward looks for GPUs, whose driver would start threads here: it can open no file.
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, files[1]))
        total.backward()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        worker.exercise("cpu")
    if simulate:
        second_device.install()
        worker.exercise(second_device.DEVICE)


def _settle(lockdown: Lockdown) -> None:
    """Make ready for forks, after imports."""
    _drop_docstrings()
    seed()
    if LINUX and len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("the fork server has a second thread: a worker would inherit its locks")
    lockdown.measure()
    gc.collect()
    gc.freeze()


def _drop_docstrings() -> None:
    """Drop the grader's docstrings and cached source lines, so that a submission finds no text of the grader."""
    for thing in gc.get_objects():
        kind = type(thing)  # isinstance would ask the object, and some of torch's warn then
        if kind in (FunctionType, ModuleType, property) or issubclass(kind, type):
            definer = thing.fget if kind is property else thing
            module = getattr(definer, "__name__" if kind is ModuleType else "__module__", "")
            if str(module).partition(".")[0] == "grader":
                thing.__doc__ = None
                if kind is FunctionType:
                    thing.__code__ = _without_docstrings(thing.__code__)
    linecache.clearcache()
    inspect.modulesbyfile.clear()


def _without_docstrings(code: CodeType) -> CodeType:
    """The code of a function, and of the functions in it, without docstrings."""
    constants = [_without_docstrings(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    may_have_one = code.co_flags & HAS_DOCSTRING and not code.co_name.startswith("<")
    if may_have_one and constants and isinstance(constants[0], str):
        constants[0] = None
    return code.replace(co_consts=tuple(constants))


def _forget_the_repository() -> None:
    """Leave only Python and its packages importable: student code must not find ``ref`` or ``grader`` on the path."""
    sys.path[:] = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder.__module__.startswith("_frozen_importlib")]
    # These are imported already, and the other modules of the project must not be found through them.
    for name, module in sys.modules.items():
        if name.partition(".")[0] == "grader" and hasattr(module, "__path__"):
            module.__path__ = []
