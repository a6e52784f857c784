"""Starts a dask scheduler and workers on loopback, each by its command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).parents[3]  # the root of the repository, from which every process imports this grader
BORROWING = {"DASK_DISTRIBUTED__WORKER__PRELOAD": "['grader.selftest.borrowed']"}  # for every worker
SINGLE = ("--nthreads", "1", "--no-nanny")


class DaskProcesses:
    """A scheduler and its workers, which are ended at the end of the ``with`` block."""

    def __init__(self, place: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        """Start the scheduler. All processes get ``options``, such as those of TLS, and write into ``place``."""
        self._place, self._options = place, options
        self._environment = os.environ | {"PYTHONWARNINGS": "ignore"} | BORROWING | (environment or {})
        self._contact = place / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.workers: list[subprocess.Popen[bytes]] = []
        while not (self._contact.exists() and self._contact.read_text().endswith("}")):
            if self.scheduler.poll() is not None:
                raise RuntimeError(f"dask's scheduler ended at once: {(place / 'scheduler.log').read_text()}")
            time.sleep(0.05)
        self.address = str(json.loads(self._contact.read_text())["address"])

    def start_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start one more worker, with one thread and no nanny unless the options say otherwise."""
        self.workers.append(self._start("worker", "--host", "127.0.0.1", *(options or SINGLE)))
        return self.workers[-1]

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self._contact)]
        command += ["--no-dashboard", *self._options, *options]
        if kind == "worker":
            command += ["--local-directory", str(self._place), "--death-timeout", "20"]
        with (self._place / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=HERE, env=self._environment, stdout=log, stderr=log)

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes: first by SIGTERM, so that nannies end their workers, then by SIGKILL."""
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
