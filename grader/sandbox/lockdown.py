"""Locks a freshly forked worker into what it needs. Runs on the untrusted side, before any student code.

Built once in the zygote, applied once in each worker, in an order in which every step is still allowed by those before:
limits, user, no new privileges, Landlock, seccomp.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .limits import Limits
from .resources import LINUX, apply_limits, resource_limits
from .syscalls import seccomp_program

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
UNPRIVILEGED_UID = 61000  # the first of a range, so that workers are strangers to each other too
UID_RANGE = 4000
PACKAGE_FOLDERS = ("site-packages", "dist-packages")
HIDDEN_PACKAGES = ("grader", "ref", "__editable__")  # where the project is installed as a package

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
        self._limits = list(resource_limits(limits, gpus))
        may_open = files_are_hidden or "landlock" in self._layers
        self._ruleset = _landlock_ruleset(readable_paths()) if "landlock" in self._layers else None
        self._filter = seccomp_program(may_open) if "seccomp" in self._layers else None

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
        apply_limits(self._limits)
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


def _installs_us(entry: Path) -> bool:
    """Whether an entry of a folder of packages tells where this project is, whatever it is installed as."""
    try:
        return "grader" in (entry / "top_level.txt").read_text(encoding="utf-8").split()
    except OSError:
        return False


def readable_paths() -> list[str]:
    """What a worker may read: Python, its packages and the system's libraries, never this project.

    A folder that holds packages is never allowed as a whole, nor is one that such a folder lies in: in a virtual
    environment the place of the standard library holds ``site-packages``, and Landlock takes nothing away again.
    """
    libraries = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    packages |= {os.path.join(library, name) for library in libraries for name in PACKAGE_FOLDERS}
    paths = {"/usr/lib", "/lib", "/lib64"}
    for folder in libraries | packages:
        entries = Path(folder).iterdir() if Path(folder).is_dir() else ()
        hidden = HIDDEN_PACKAGES if folder in packages else PACKAGE_FOLDERS
        paths |= {str(entry) for entry in entries if not entry.name.startswith(hidden) and not _installs_us(entry)}
    return sorted(path for path in paths - libraries - packages if os.path.exists(path))


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
