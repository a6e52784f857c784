"""A run of the tests in a process of its own, which student code may end; then the test that was running is named."""

import os
import signal
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from .page import run
from .rubric import TESTS, Task
from .student import CAN_FORK
from .terminal import Language, end_with, interpreter, say


@dataclass(frozen=True)
class Running:
    """A plugin of pytest: a file that names what runs, and is removed at the end unless student code comes first."""

    file: Path

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Files of ``src`` are imported before the first test."""
        self.pytest_runtest_logstart("")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Name the test that begins."""
        self.file.write_text(nodeid, encoding="utf-8")

    def pytest_unconfigure(self) -> None:
        """All tests have ended."""
        self.file.unlink()

    def told(self, status: int, language: Language) -> str:
        """What ended the run with that status of ``waitstatus_to_exitcode``; empty if it came to its end."""
        if not self.file.is_file():
            return ""
        killed = status < 0 and signal.Signals(-status)
        key = "exited" if not killed else "out_of_memory" if killed is signal.SIGKILL else "crashed"
        how = say(language, key, status=status, name=killed and killed.name)
        test = self.file.read_text(encoding="utf-8")
        command = f'{interpreter()} -m pytest -v "{test or TESTS.name}"'
        return say(language, "ended" if test else "ended_on_import", how=how, test=test, command=command)


def run_alone(tasks: Sequence[Task], options: Namespace) -> int:
    """Run the tests in a fork, which has the keyboard for debuggers; returns 1 if student code has ended it.

    Without a safe fork, they run in this process: a new one would import torch a second time.
    """
    if not CAN_FORK:
        return run(tasks, options)
    with tempfile.TemporaryDirectory() as folder:
        running = Running(Path(folder, "running"))
        options.plugins = [running]
        child = os.fork()
        if child == 0:
            end_with(partial(run, tasks, options))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the fork as well, which says where it was
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told = running.told(status, options.lang)
    if told:
        print(told)
    return 1 if told else status
