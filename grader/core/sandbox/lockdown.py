"""Takes from a freshly forked worker all rights that it does not need. Runs in the worker, before any student code.

A lockdown is built once in the fork server and applied in each worker. The order matters, since each step must still be
allowed after those before it: limits, user, no new privileges, Landlock, seccomp.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .limits import Limits
from .resources import LINUX, apply_limits, resource_limits
from .syscalls import seccomp_program

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
UNPRIVILEGED_UID = 61000  # the first of a range, so that each worker has a user of its own
UID_RANGE = 4000
PACKAGE_FOLDERS = ("site-packages", "dist-packages")
HIDDEN_PACKAGES = ("grader", "ref", "__editable__")  # what the project is called where it is installed as a package

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
        self._wanted, self._gpus = limits, gpus
        self.measure()
        may_open = files_are_hidden or "landlock" in self._layers
        self._ruleset = _landlock_ruleset(readable_paths()) if "landlock" in self._layers else None
        self._filter = seccomp_program(may_open) if "seccomp" in self._layers else None

    def measure(self) -> None:
        """Allow memory on top of what this process has now."""
        self._limits = list(resource_limits(self._wanted, self._gpus))

    def apply(self, parent: int) -> None:
        """Lock this process, for good.

        Args:
            parent: The process number of its parent, the fork server.

        Raises:
            OSError: If a step fails; then the process must end.
        """
        os.setsid()
        if LINUX:
            _prctl(PR_SET_DUMPABLE, 0)
        apply_limits(self._limits)
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
    """Whether this entry of a package folder belongs to the installed project, under whatever name."""
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
    """Have the kernel kill this process when its parent dies; does nothing elsewhere than on Linux.

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
