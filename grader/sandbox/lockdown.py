"""Locks a freshly forked worker into what it needs. Runs on the untrusted side, before any student code.

Built once in the zygote, applied once in each worker, in an order in which every step is still allowed by those before:
limits, user, no new privileges, Landlock, seccomp.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import signal
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .limits import Limits
from .syscalls import ALLOWED, FCNTL_COMMANDS, IOCTL_COMMANDS, OPEN_FLAGS_ARGUMENT, WRITING

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
BYTES_OF_AN_INSTRUCTION = 8
UNPRIVILEGED_UID = 61000  # the first of a range, so that workers are strangers to each other too
UID_RANGE = 4000
DRIVER_MIB, DRIVER_FILES = 4096, 960  # what a GPU's driver may take in each worker
HIDDEN_PACKAGES = ("grader", "ref", "__editable__", "a2_rmsnorm")  # where the project is installed as a package

LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True)


class Lockdown:
    """The layers that a worker puts between itself and everything else.

    Args:
        layers: Any of ``user``, ``landlock``, ``seccomp``.
        limits: For memory and CPU time.
        files_are_hidden: Whether a mount namespace already hides all files that are not to be read.
        gpus: Leave room for a GPU's driver, which maps, opens and starts more than student code may.
    """

    def __init__(self, layers: Iterable[str], limits: Limits, files_are_hidden: bool, gpus: bool = False) -> None:
        """Prepare what can be prepared before a fork.

        Raises:
            OSError, ImportError: If a layer is not to be had here.
        """
        self._layers = frozenset(layers)
        self._limits = list(_resource_limits(limits, gpus))
        may_open = files_are_hidden or "landlock" in self._layers
        self._ruleset = _landlock_ruleset(readable_paths()) if "landlock" in self._layers else None
        self._filter = _seccomp_filter(may_open) if "seccomp" in self._layers else None

    def apply(self, parent: int) -> None:
        """Lock this process, for good.

        Args:
            parent: The number of the process that forked it.

        Raises:
            OSError: If a step fails; the process must not go on then.
        """
        os.setsid()
        if LINUX:
            _prctl(PR_SET_DUMPABLE, 0)
        _limit_resources(self._limits)
        if "user" in self._layers:
            _drop_user()
        die_with_parent(parent)  # after the change of user, which would clear it
        if LINUX:
            _prctl(PR_SET_NO_NEW_PRIVS, 1)
        if self._ruleset is not None:
            self._ruleset.restrict()
            self._ruleset.close()
        if self._filter is not None:
            _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(self._filter))


def readable_paths() -> list[str]:
    """What a worker may read: Python, its packages and the system's libraries, never this project."""
    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), "/usr/lib", "/lib", "/lib64"}
    for packages in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        entries = Path(packages).iterdir() if Path(packages).is_dir() else ()
        paths |= {str(entry) for entry in entries if not entry.name.startswith(HIDDEN_PACKAGES)}
        paths -= {packages}
    return sorted(path for path in paths if os.path.exists(path))


def die_with_parent(parent: int | None = None, lifeline: int | None = None) -> None:
    """Have the kernel kill this process once the one that started it is dead; elsewhere than on Linux, do nothing.

    Args:
        parent: Its number, to see whether it has died before this took effect.
        lifeline: A socket of which the other end is held by whoever this process is to serve, for the same purpose.
    """
    if not LINUX:
        return
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(0)
    if lifeline is not None:
        poll = select.poll()
        poll.register(lifeline, 0)  # a hang-up is told without asking
        if poll.poll(0):
            os._exit(0)


def _prctl(option: int, value: int, argument: Any = 0) -> None:
    if _libc.prctl(option, value, argument, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _resource_limits(limits: Limits, gpus: bool) -> Iterator[tuple[int, int, bool]]:
    """The kernel's limits as kind, value, and whether a system that refuses it will do: not every system has all.

    A worker's size when it starts is this process's now.
    """
    needed = {"FSIZE": 0, "NOFILE": limits.open_files + (DRIVER_FILES if gpus else 0)}
    optional = {"CPU": int(limits.submission_s) + 1, "CORE": 0}
    if LINUX:  # others limit no memory, whatever they are told
        space, data = _size()
        added = limits.memory_mib << 20
        # A GPU's driver reserves address space by the gigabyte.
        needed |= {"DATA": data + added + (DRIVER_MIB << 20)} if gpus else {"AS": space + added}
    if not gpus:  # and it locks memory, and starts threads
        optional |= {"NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0}
    for name, value in (needed | optional).items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            hard = resource.getrlimit(kind)[1]
            yield kind, value if hard == resource.RLIM_INFINITY else min(value, hard), name in optional


def _size() -> tuple[int, int]:
    """Bytes of this process's address space, and of what is private in it."""
    with open("/proc/self/statm") as file:
        space, _, _, _, _, data, _ = (int(pages) * os.sysconf("SC_PAGESIZE") for pages in file.read().split())
    return space, data


def _limit_resources(limits: Iterable[tuple[int, int, bool]]) -> None:
    for kind, value, optional in limits:
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            if not optional:
                raise


def _drop_user() -> None:
    uid = UNPRIVILEGED_UID + os.getpid() % UID_RANGE
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _landlock_ruleset(readable: Iterable[str]) -> Any:
    """A ruleset that handles all that the kernel knows, and allows reading below some paths."""
    import landlockpy
    from landlockpy import AccessFS

    if not landlockpy.supported():
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    ruleset = landlockpy.Ruleset()
    for path in readable:
        access = AccessFS.READ_FILE | (AccessFS.READ_DIR if os.path.isdir(path) else AccessFS.NONE)
        ruleset.allow_path(path, access)
    return ruleset


class _Program(ctypes.Structure):
    """A seccomp filter as the kernel takes it: ``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _seccomp_filter(may_open: bool) -> _Program:
    """A filter that allows the listed calls and answers every other with EPERM."""
    import pyseccomp
    from pyseccomp import ALLOW, EQ, MASKED_EQ, Arg

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in ALLOWED:
        rules.add_rule(ALLOW, name)
    for name, argument in OPEN_FLAGS_ARGUMENT.items():
        if may_open:
            rules.add_rule(ALLOW, name, Arg(argument, MASKED_EQ, WRITING, 0))
    for name, commands in (("ioctl", IOCTL_COMMANDS), ("fcntl", FCNTL_COMMANDS)):
        for command in commands:
            rules.add_rule(ALLOW, name, Arg(1, EQ, command))
    rules.add_rule(ALLOW, "prlimit64", Arg(2, EQ, 0))  # to read a limit, not to set one
    with open(os.memfd_create("filter"), "w+b") as file:  # compiled once, not in every worker
        rules.export_bpf(file)
        file.seek(0)
        program = file.read()
    return _Program(len(program) // BYTES_OF_AN_INSTRUCTION, program)
