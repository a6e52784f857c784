"""Imported where fork servers are borrowed from :mod:`.fork_servers`: in tests, their commands, and what forks judges.

What multiprocessing's fork server is to import, it imports after this module.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from grader.core.sandbox import started
from grader.core.sandbox.started import START, Started
from grader.core.sandbox.started import start as _start

ADDRESS = "GRADER_SELFTEST_FORK_SERVERS"  # names the folder that has the socket, and why there is no container
start_anew = _start  # the product's own
PIDS: list[int] = []  # of the fork servers that this process has borrowed, or what it was forked from


def start(cuda: bool = False, contained: bool = True, special: str = "") -> Started:
    """In the place of ``started.start``, which is called where nothing is lent, or another kind is asked for."""
    lender = Path(os.environ.get(ADDRESS, "/nowhere"))
    control = socket.socket(socket.AF_UNIX)
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        problem = (lender / "no_container").read_text()
        if cuda or special or started.START != START or not (contained or problem):
            raise FileNotFoundError("nothing of that kind")
        control.connect(str(lender / "socket"))
    except OSError:
        control.close()
        return start_anew(cuda, contained, special)
    _, [(_, _, sender)], *_ = control.recvmsg(1, socket.CMSG_SPACE(struct.calcsize("iII")))
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    pid, *_ = struct.unpack("iII", sender)
    PIDS.append(pid)
    process = SimpleNamespace(pid=pid, wait=lambda: None)  # the lender waits for it
    return Started(cast("subprocess.Popen[bytes]", process), control, problem if contained else None)


def _preload(modules: list[str]) -> None:
    _PRELOAD([__name__, *modules])


_PRELOAD = forkserver.set_forkserver_preload
if sys.platform == "linux":
    vars(forkserver)["set_forkserver_preload"] = _preload
    for name in ("started", "launch"):
        if module := sys.modules.get(f"grader.core.sandbox.{name}"):
            vars(module)["start"] = start
