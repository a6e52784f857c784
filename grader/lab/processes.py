"""CPU time and memory of a process and its descendants, as reported by Linux."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """The pids of a process and of its running descendants."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                found += descendants(int(child))
        except OSError:
            continue  # ended meanwhile
    return found


def memory_mib(pids: Iterable[int]) -> float:
    """Total proportional set size in MiB, in which a shared page counts once."""
    total = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue  # ended meanwhile
        total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
    return total / 1024


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of running processes and of the children that they have reaped."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        total += sum(int(field) for field in fields[11:15])  # utime stime cutime cstime
    return total / CLOCK_TICKS
