"""Starts the fork server's process, perhaps before its judge has imported torch: so this module does not import it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass

from grader import REPOSITORY

from .bubblewrap import container
from .limits import GPU_VARIABLES

# The garbage collector is off until all is imported: it would take a seventh of the time. The standard library's hooks
# for forks are for threads, and there are none. From before torch is imported, the process dies with its parent.
START = (
    "import gc, os, sys; sys.path.insert(0, sys.argv[1]); gc.disable(); "
    "os.register_at_fork = lambda **hooks: None; "
    "from grader.core.sandbox import lockdown; lockdown.die_with_parent(lifeline=int(sys.argv[2])); "
    "from grader.core.sandbox import zygote; zygote.main(int(sys.argv[2]))"
)
GPU_SIGNS = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


@dataclass(frozen=True)
class Started:
    """A fork server's process, which waits for its configuration.

    Attributes:
        control: The judge's end of its control socket; the process ends when nobody holds it any more.
        no_container: Why it has no container; None if none was wanted, empty if it has one.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket
    no_container: str | None


def start(cuda: bool = False, contained: bool = True) -> Started:
    """Start the process.

    Args:
        cuda: Let it use GPUs.
        contained: Put it into a container, where there can be one.
    """
    control, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-sPB", "-W", "ignore", "-c", START, str(REPOSITORY), str(theirs.fileno())]
        command, problem = container(command) if contained else (command, "")
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C at the terminal goes to the command only
            env=_environment(cuda),
        )
    return Started(process, control, problem if contained else None)


def _environment(cuda: bool) -> dict[str, str]:
    """The fork server's environment variables: one thread, no GPU unless asked for, and a heap of huge pages.

    A fork copies a page table; with 4 KiB pages that is most of its cost, so glibc's heap is on huge pages (its own
    tunable). Python's objects stay in Python's own allocator, which is quicker than glibc's.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    heap = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    own = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    devices = own if cuda else {"CUDA_VISIBLE_DEVICES": ""}
    macos = {"OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"}  # else macOS ends a forked process that starts no program
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **devices, **threads, **heap, **macos}


# ── Ahead of the first judge ────────────────────────────────────────────────────────────────────────────────────────

_AHEAD: list[Started] = []
_GIVEN: list[Started] = []


def start_ahead() -> None:
    """Start a process now for the first process that is forked from this one, which takes it over.

    So our fork server imports torch at the same time as multiprocessing's, from which judges are forked. Does nothing
    where there may be a GPU: only torch knows whether the fork server needs it.
    """
    if not any(map(os.path.exists, GPU_SIGNS)):
        _AHEAD.append(start())
        os.register_at_fork(after_in_parent=_give)


def _give() -> None:
    """After the first fork: leave the process to the child, and close its control socket here."""
    while _AHEAD:
        _GIVEN.append(_AHEAD.pop())
        _GIVEN[-1].control.close()


def taken_over(cuda: bool, contained: bool) -> Started | None:
    """The process that was started ahead for this one, if it was started in the same way; None at a second call."""
    if not _AHEAD:
        return None
    own = _AHEAD.pop()
    if not cuda and contained:
        return own
    own.control.close()  # so that it ends
    return None
