"""CPU time and memory of a process and its descendants."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil


def descendants(pid: int) -> list[int]:
    """The pids of a process and of its running descendants."""
    families = _each([pid], lambda one: one.children(recursive=True))
    return [pid, *(child.pid for children in families for child in children)]


def memory_mib(pids: Iterable[int]) -> float:
    """Total proportional set size in MiB, in which a shared page counts once."""
    return float(sum(_each(pids, lambda one: one.memory_full_info().pss))) / 2**20


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of running processes and of the children that they have reaped."""
    return float(sum(_each(pids, lambda one: sum(one.cpu_times()[:4]))))  # user and system, then those of children


def _each(pids: Iterable[int], ask: Callable[[psutil.Process], Any]) -> Iterator[Any]:
    """What is known of each process that is still running."""
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # ended meanwhile
            yield ask(psutil.Process(pid))
