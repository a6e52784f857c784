"""A container for the fork server, where bubblewrap can make one: no network, no other process, few files to read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from grader import PACKAGE

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # glibc asks here whether there are any
TRIAL_S = 10.0


def container(command: Sequence[str]) -> tuple[list[str], str]:
    """``command`` inside a container and an empty text, or ``command`` itself and the reason why there is none."""
    program = shutil.which("bwrap")
    if program is None:
        return list(command), "bwrap is not installed"
    arguments = [program, *_arguments()]
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


def _arguments() -> list[str]:
    """Options of bubblewrap: share nothing; of files, show only libraries, Python and the sandbox's code, read-only."""
    arguments = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in ("/usr", "/etc/ld.so.cache", "/etc/alternatives", HUGE_PAGES):
        arguments += ["--ro-bind-try", path, path]
    for path in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind-try", path, path]
    ours = (str(PACKAGE / name) for name in ("__init__.py", "core/__init__.py", "core/sandbox"))
    for path in dict.fromkeys((sys.prefix, sys.base_prefix, *ours)):
        if not path.startswith("/usr/"):
            arguments += ["--ro-bind", path, path]
    return [*arguments, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/", "--chdir", "/"]
