"""Starts the fork server's process, in a container where bubblewrap can make one.

That may be before its judge has imported torch, so this module does not import it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from grader import PACKAGE, REPOSITORY

from .limits import GPU_VARIABLES

# The garbage collector is off until all is imported: it would take a seventh of the time. The standard library's hooks
# for forks are for threads, and there are none. From before torch is imported, the process dies with its parent.
START = (
    "import gc, os, sys; sys.path.insert(0, sys.argv[1]); gc.disable(); "
    "os.register_at_fork = lambda **hooks: None; "
    "from grader.core.sandbox import lockdown; lockdown.die_with_parent(lifeline=int(sys.argv[2])); "
    "from grader.core.sandbox import zygote; zygote.main(int(sys.argv[2]))"
)
# What a container shows of our own code; test_zygote.py holds it against what the fork server imports.
OURS = ("__init__.py", "core/__init__.py", "core/messages.py", "core/sandbox", "shared")
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # glibc asks here whether there are any
TRIAL_S = 10.0  # for a first, empty container
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


def start(cuda: bool = False, contained: bool = True, special: str = "") -> Started:
    """Start the process, with GPUs if asked for, and in a container if asked for and where there can be one.

    The container shows the file of the module ``special`` as well.
    """
    control, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-sPB", "-W", "ignore", "-c", START, str(REPOSITORY), str(theirs.fileno())]
        command, problem = container(command, (*OURS, *files_of(special))) if contained else (command, "")
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
    gpu = {name: os.environ[name] for name in GPU_VARIABLES if name in os.environ}
    devices = gpu if cuda else {"CUDA_VISIBLE_DEVICES": ""}
    macos = {"OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"}  # else macOS ends a forked process that starts no program
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **devices, **threads, **heap, **macos}


def files_of(module: str) -> list[str]:
    """The files of a module and of the packages around it, below ours; none for an empty name."""
    _, *parts = module.split(".")
    packages = ["/".join([*parts[:depth], "__init__.py"]) for depth in range(1, len(parts))]
    return [*packages, f"{'/'.join(parts)}.py"] if parts else []


def container(command: Sequence[str], shown: Sequence[str] = OURS) -> tuple[list[str], str]:
    """``command`` inside a container of bubblewrap's and an empty text, or itself and the reason why there is none.

    Of our own code, the container has the files and folders that are ``shown``.
    """
    program = shutil.which("bwrap")
    if program is None:
        return list(command), "bwrap is not installed"
    arguments = [program, *_arguments(shown)]
    try:
        trial = subprocess.run(
            [*arguments, sys.executable, "-c", ""], capture_output=True, timeout=TRIAL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return list(command), str(error)
    if trial.returncode != 0:
        lines = trial.stderr.decode(errors="replace").strip().splitlines()
        return list(command), lines[-1] if lines else f"bwrap ended with {trial.returncode}"
    return [*arguments, *command], ""


def _arguments(shown: Sequence[str]) -> list[str]:
    """Options of bubblewrap: share nothing; of files, show only libraries, Python and what is ours, read-only."""
    arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in ("/usr", "/etc/ld.so.cache", "/etc/alternatives", HUGE_PAGES):
        arguments += ["--ro-bind-try", path, path]
    for path in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind-try", path, path]
    for path in dict.fromkeys((sys.prefix, sys.base_prefix, *(str(PACKAGE / name) for name in shown))):
        if not path.startswith("/usr/"):
            arguments += ["--ro-bind", path, path]
    return [*arguments, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "--chdir", "/"]


# The process that was started ahead, if any. The first child inherits its control socket and can take it over; the
# parent then closes its own copy, so later children cannot. The entry is kept, because a Popen warns when it is dropped
# while its process runs.
_AHEAD: list[Started] = []


def start_ahead() -> None:
    """Start a process now for the first process that is forked from this one, which takes it over.

    So our fork server imports torch at the same time as multiprocessing's, from which judges are forked. Does nothing
    where there may be a GPU: only torch knows whether the fork server needs it.
    """
    if not any(map(os.path.exists, GPU_SIGNS)):
        _AHEAD.append(start())
        os.register_at_fork(after_in_parent=_leave_to_the_child)


def _leave_to_the_child() -> None:
    for started in _AHEAD:
        started.control.close()


def taken_over(cuda: bool, contained: bool, special: str = "") -> Started | None:
    """The process that was started ahead for this one, if it was started in the same way; None at a second call."""
    if not _AHEAD or _AHEAD[0].control.fileno() == -1:
        return None
    started = _AHEAD.pop()
    if not cuda and contained and not special:
        return started
    started.control.close()  # so that it ends
    return None
