"""Takes from a freshly forked worker all rights that it does not need. Runs in the worker, before any student code.

A lockdown is built once in the fork server and applied in each worker. The order matters, since each step must still be
allowed after those before it: limits, user, no new privileges, Landlock, seccomp.
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

LINUX = sys.platform == "linux"
DRIVER_MIB, DRIVER_FILES = 4096, 960  # what a GPU's driver may take in each worker

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
UNPRIVILEGED_UID = 61000  # the first of a range, so that each worker has a user of its own
UID_RANGE = 4000
PACKAGE_FOLDERS = ("site-packages", "dist-packages")
HIDDEN_PACKAGES = ("grader", "ref", "__editable__")  # what the project is called where it is installed as a package

# The system calls that student code may make; every other fails with EPERM. No process, thread, program, socket,
# signal, debugger or file to write: a solution only computes, reads modules, and answers on one descriptor.
ALLOWED = (
    # memory
    *("brk", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "munmap", "get_mempolicy"),
    # open descriptors; without close_range, os.closerange ends a process from Python 3.13 on
    *("close", "close_range", "dup", "dup2", "dup3", "fstat", "lseek", "poll", "ppoll", "pread64", "pselect6", "read"),
    *("readv", "select", "write", "writev"),
    # names of files, to import modules (for opening them see below)
    *("access", "faccessat", "faccessat2", "getcwd", "getdents64", "lstat", "newfstatat", "readlink", "readlinkat"),
    *("stat", "statx"),
    # time
    *("gettimeofday", "nanosleep", "time", "times"),
    # the process itself
    *("arch_prctl", "exit", "exit_group", "futex", "getcpu", "getegid", "geteuid", "getgid", "getpid", "getppid"),
    *("getrandom", "getrlimit", "getrusage", "gettid", "getuid", "restart_syscall", "rseq", "rt_sigaction"),
    *("rt_sigprocmask", "rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack"),
    *("sysinfo", "uname"),
)

# Opening a file is allowed only for reading, and only where another layer limits which files can be read.
OPEN_FLAGS_ARGUMENT = {"open": 1, "openat": 2}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# What Python asks of descriptors: terminal size, non-blocking mode, flags, duplicates.
IOCTL_COMMANDS = (0x5401, 0x5413, 0x5421, 0x541B, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONBIO FIONREAD FIONCLEX FIOCLEX
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)  # F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC

# The clocks of this process and of the machine; all others are those of other processes.
CLOCKS, LAST_CLOCK = ("clock_getres", "clock_gettime", "clock_nanosleep"), 7

BYTES_OF_AN_INSTRUCTION = 8  # of a filter

_libc = ctypes.CDLL(None, use_errno=True)


class Lockdown:
    """The layers that a worker puts between itself and everything else.

    Args:
        layers: Any of ``user``, ``landlock``, ``seccomp``.
        limits: For memory and CPU time.
        files_are_hidden: Whether a mount namespace already hides all files that must not be read.
        gpus: Leave room for a GPU's driver, which needs more memory, files and threads than student code may use.
    """

    def __init__(self, layers: Iterable[str], limits: Limits, files_are_hidden: bool, gpus: bool = False) -> None:
        """Prepare what can be prepared before a fork.

        Raises:
            OSError, ImportError: If this machine does not have a layer.
        """
        self._layers = frozenset(layers)
        self._wanted, self.gpus = limits, gpus
        self.measure()
        may_open = files_are_hidden or "landlock" in self._layers
        self._ruleset = _landlock_ruleset(readable_paths()) if "landlock" in self._layers else None
        self._filter = seccomp_program(may_open) if "seccomp" in self._layers else None

    def measure(self) -> None:
        """Allow memory on top of what this process has now."""
        self._limits = list(resource_limits(self._wanted, self.gpus))

    def apply(self, parent: int) -> None:
        """Lock this process, whose parent is the fork server, for good.

        Raises:
            OSError, ValueError: If a step fails; then the process must end.
        """
        os.setsid()
        if LINUX:
            _prctl(PR_SET_DUMPABLE, 0)
        for kind, value, optional in self._limits:
            try:
                resource.setrlimit(kind, (value, value))
            except (ValueError, OSError):
                if not optional:
                    raise
        if "user" in self._layers:
            _drop_user()
        die_with_parent(parent)  # after the change of user, which would undo it
        if LINUX:
            _prctl(PR_SET_NO_NEW_PRIVS, 1)
        if self._ruleset is not None:
            self._ruleset.restrict()
            self._ruleset.close()
        if self._filter is not None:
            _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(self._filter))


def _installs_us(entry: Path) -> bool:
    """Whether this entry of a package folder belongs to the installed project, under any name."""
    try:
        return "grader" in (entry / "top_level.txt").read_text(encoding="utf-8").split()
    except OSError:
        return False


def readable_paths() -> list[str]:
    """What a worker may read: Python, its packages and the system's libraries, never this project.

    A package folder is never allowed as a whole, and neither is a folder around it: in a virtual environment the
    standard library's folder holds ``site-packages``, and Landlock cannot forbid a part of what it has allowed.
    """
    libraries = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    packages |= {os.path.join(library, name) for library in libraries for name in PACKAGE_FOLDERS}
    paths = {"/usr/lib", "/lib", "/lib64"}
    paths |= {str(path) for path in Path(sys.base_prefix, "lib").glob("lib*.so*")}  # sqlite's, in a Python of conda's
    for folder in libraries | packages:
        entries = Path(folder).iterdir() if Path(folder).is_dir() else ()
        hidden = HIDDEN_PACKAGES if folder in packages else PACKAGE_FOLDERS
        paths |= {str(entry) for entry in entries if not entry.name.startswith(hidden) and not _installs_us(entry)}
    return sorted(path for path in paths - libraries - packages if os.path.exists(path))


def die_with_parent(parent: int | None = None, lifeline: int | None = None) -> None:
    """Have the kernel kill this process when its parent dies; does nothing except on Linux.

    The kernel does not report a death before this call, so the arguments are checked, too.

    Args:
        parent: The parent's process number; if this process has another parent now, it ends.
        lifeline: A socket to the process that this one works for; if the other end is closed, this process ends.
    """
    if not LINUX:
        return
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(0)
    if lifeline is not None:
        poll = select.poll()
        poll.register(lifeline, 0)  # a closed socket is reported without asking for it
        if poll.poll(0):
            os._exit(0)


def _prctl(option: int, value: int, argument: Any = 0) -> None:
    if _libc.prctl(option, value, argument, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _drop_user() -> None:
    uid = UNPRIVILEGED_UID + os.getpid() % UID_RANGE
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _landlock_ruleset(readable: Iterable[str]) -> Any:
    """A ruleset that forbids every access to files that the kernel can forbid, but for reading below these paths."""
    import landlockpy
    from landlockpy import AccessFS

    if not landlockpy.supported():
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    ruleset = landlockpy.Ruleset()
    for path in readable:
        access = AccessFS.READ_FILE | (AccessFS.READ_DIR if os.path.isdir(path) else AccessFS.NONE)
        ruleset.allow_path(path, access)
    return ruleset


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


class Program(ctypes.Structure):
    """A seccomp filter as the kernel takes it: ``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def seccomp_program(may_open: bool) -> Program:
    """A filter that allows the calls above (opening for reading only if requested) and fails all others with EPERM.

    Raises:
        ImportError: If libseccomp or its binding is missing.
    """
    import pyseccomp
    from pyseccomp import ALLOW, EQ, LE, MASKED_EQ, Arg

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in ALLOWED:
        rules.add_rule(ALLOW, name)
    for name, argument in OPEN_FLAGS_ARGUMENT.items():
        if may_open:
            rules.add_rule(ALLOW, name, Arg(argument, MASKED_EQ, WRITING, 0))
    for name, commands in (("ioctl", IOCTL_COMMANDS), ("fcntl", FCNTL_COMMANDS)):
        for command in commands:
            rules.add_rule(ALLOW, name, Arg(1, EQ, command))
    for name in CLOCKS:
        rules.add_rule(ALLOW, name, Arg(0, LE, LAST_CLOCK))
    rules.add_rule(ALLOW, "prlimit64", Arg(2, EQ, 0))  # to read a limit, not to set one
    with open(os.memfd_create("filter"), "w+b") as file:  # compiled once, not in every worker
        rules.export_bpf(file)
        file.seek(0)
        program = file.read()
    return Program(len(program) // BYTES_OF_AN_INSTRUCTION, program)
