"""Measures wall-clock time, CPU time and memory of a piece of work and of all processes that it starts."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 0.5


CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """The time that one run took, in wall-clock and CPU seconds; CPU time includes children that have ended."""

    wall_s: float
    cpu_s: float


def cost(work: Callable[[], object]) -> Cost:
    """Run ``work`` and measure it."""
    cpu, wall = _cpu_s(), time.perf_counter()
    work()
    return Cost(time.perf_counter() - wall, _cpu_s() - cpu)


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def descendants(pid: int) -> list[int]:
    """The pids of a process and of all its descendants that still run."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                found += descendants(int(child))
        except OSError:
            continue  # ended meanwhile
    return found


def memory_mib(pids: Iterable[int]) -> float:
    """Proportional set size of some processes together, in MiB: a page that they share counts once."""
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue  # ended meanwhile
        total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return total / 1024


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of some running processes and of the children that they have reaped."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        total += sum(int(field) for field in fields[11:15])  # utime stime cutime cstime
    return total / CLOCK_TICKS


class Watch:
    """Samples the memory of this process's descendants in the background; keeps the largest sum."""

    def __init__(self) -> None:
        """Start sampling at once."""
        self.peak_mib = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            self.peak_mib = max(self.peak_mib, memory_mib(descendants(os.getpid())))

    def stop(self) -> None:
        """End sampling."""
        self._stop.set()
        self._thread.join()
