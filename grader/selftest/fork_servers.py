"""Fork servers for tests, forked from one process that has imported torch already.

Importing torch takes 1.4 of the 1.6 CPU seconds that a fork server needs to start. So each test process keeps one
process, started like a fork server and in the same container if there is one, which forks a fork server for every
connection to its socket (:mod:`.borrowed`). Tests, the judges that they start, and commands connect to it. Tests of the
start itself use the fixture ``own_fork_servers``, or change ``started.START``.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from grader.core.sandbox import started
from grader.core.sandbox.started import START, Started
from grader.selftest.borrowed import ADDRESS, start_anew

SERVE = """
import contextlib, signal, socket
ours = socket.socket(fileno=int(sys.argv[2]))
listener = socket.socket(fileno=socket.recv_fds(ours, 1, 1)[1][0])

def reap(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass

zygote._drop_docstrings()  # as each fork server does, which then has only its own objects to look through
gc.collect()
gc.freeze()
signal.signal(signal.SIGCHLD, reap)
while True:
    control = listener.accept()[0]
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        ours.close()
        control.send(b" ")  # the kernel adds whose it is
        zygote.main(control.detach())
    control.close()
"""


class ForkServers:
    """A pytest plugin that keeps the process, from the first test with the mark ``process`` on."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lender: Started | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Start the process if the test may need it."""
        if self._lender is None and sys.platform == "linux" and item.get_closest_marker("process"):
            folder = Path(tempfile.mkdtemp(prefix="grader-", dir="/tmp"))  # the name of a socket has to be short
            with pytest.MonkeyPatch.context() as patch, socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(folder / "socket"))
                listener.listen()
                patch.setattr(started, "START", START.partition("zygote.main(")[0] + SERVE)
                self._lender = start_anew()
                socket.send_fds(self._lender.control, [b" "], [listener.fileno()])
            (folder / "no_container").write_text(self._lender.no_container or "")
            os.environ[ADDRESS] = str(folder)

    def pytest_unconfigure(self) -> None:
        """End the process. Each fork server that it has forked ends when its connection is closed."""
        if self._lender:
            self._lender.control.close()
            self._lender.process.kill()
            self._lender.process.wait()
            shutil.rmtree(os.environ.pop(ADDRESS))


@pytest.fixture
def own_fork_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lent: the test and its commands start what they need."""
    monkeypatch.delenv(ADDRESS, raising=False)
