"""The kernel's limits on a worker's resources: computed once in the fork server, set in each worker."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable, Iterator

from .limits import Limits

LINUX = sys.platform == "linux"
DRIVER_MIB, DRIVER_FILES = 4096, 960  # what a GPU's driver may take in each worker


def resource_limits(limits: Limits, gpus: bool) -> Iterator[tuple[int, int, bool]]:
    """The kernel's limits as kind, value, and whether the limit is optional: not every system has all of them.

    A worker starts with the size that this process, the fork server, has now.
    """
    needed = {"FSIZE": 0, "NOFILE": limits.open_files + (DRIVER_FILES if gpus else 0)}
    optional = {"CPU": int(limits.submission_s) + 1, "CORE": 0}
    if LINUX:  # other systems accept a limit on memory and ignore it
        space, data = _size()
        added = limits.memory_mib << 20
        # A GPU's driver reserves address space by the gigabyte.
        needed |= {"DATA": data + added + (DRIVER_MIB << 20)} if gpus else {"AS": space + added}
    if not gpus:  # the driver locks memory and starts threads
        optional |= {"NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0}
    for name, value in (needed | optional).items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            yield kind, value if hard == resource.RLIM_INFINITY else min(value, hard), name in optional


def _size() -> tuple[int, int]:
    """Bytes of this process's address space, and of its private part."""
    with open("/proc/self/statm") as file:
        space, _, _, _, _, data, _ = (int(pages) * os.sysconf("SC_PAGESIZE") for pages in file.read().split())
    return space, data


def apply_limits(limits: Iterable[tuple[int, int, bool]]) -> None:
    """Set these limits on this process.

    Raises:
        OSError, ValueError: If the system refuses a limit that is not optional.
    """
    for kind, value, optional in limits:
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            if not optional:
                raise
