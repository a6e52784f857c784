"""Limits of memory and CPU time that a process of the grader sets for itself before it works on a submission.

Both are added to what the process has used already, so a process that serves many submissions sets them for each.
Beyond the memory limit an allocation raises ``MemoryError``; at the time limit SIGXCPU ends the process. Neither limit
depends on how busy the machine is, so a process reaches one only because of the submission.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def bound_memory(added_mib: int) -> None:
    """Limit the address space to ``added_mib`` MiB more than the process has now; does nothing except on Linux."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _set(resource.RLIMIT_AS, pages * os.sysconf("SC_PAGESIZE") + (added_mib << 20))


def bound_time(added_cpu_s: int) -> None:
    """Limit the CPU time to ``added_cpu_s`` seconds from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + added_cpu_s)


def _set(kind: int, value: int) -> None:
    """Set the soft limit to ``value``, or to the hard limit if that is lower; the hard limit does not change."""
    hard = resource.getrlimit(kind)[1]
    within = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (within, hard))
