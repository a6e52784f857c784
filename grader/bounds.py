"""What a process of our own may use for one submission, set by that process itself: memory, and time to compute.

Both count from what the process has used already, so that one that serves many submissions can set them for each.
Reached, the first is a ``MemoryError`` and the second ends the process by SIGXCPU. Neither depends on how busy the
machine is, so whoever reaches them has reached them because of the submission.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path


def bound_memory(added_mib: int) -> None:
    """Allow so much address space on top of what there is now. Other systems than Linux limit no memory."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _set(resource.RLIMIT_AS, pages * os.sysconf("SC_PAGESIZE") + (added_mib << 20))


def free_memory() -> None:
    """Take the bound on memory away again."""
    _set(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def bound_time(added_cpu_s: int) -> None:
    """Allow so many seconds of computing from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + added_cpu_s)


def _set(kind: int, value: int) -> None:
    """Set the soft limit, as far as the hard one allows; that stays, for processes that are started from here."""
    hard = resource.getrlimit(kind)[1]
    within = value if hard == resource.RLIM_INFINITY else hard if value == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (within, hard))
