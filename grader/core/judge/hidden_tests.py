"""The hidden tests as a function from a submission to case results. pytest collects them once and runs them often.

pytest's main loop does not return before the end, so it gets a thread of its own, in which its ``runtestloop`` serves
one submission after another. pytest-json-report collects each run; what a test raises becomes metadata of its report.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import torch

from grader.core.assignment import Assignment
from grader.core.results.outcome import CaseResult
from grader.core.sandbox import second_device

from .devices import simulated
from .lender import Lender
from .plugin import Plugin, Task
from .record import Recording
from .student import StartWorker, Student

OMIT = ("collectors", "log", "streams", "warnings", "keywords", "traceback")
UNUSED_PLUGINS = (
    *("cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin"),
    *("setuponly", "setupplan", "stepwise", "tmpdir", "unraisableexception", "threadexception", "warnings", "metadata"),
    "anyio",  # comes with a development dependency
)


class HiddenTestsError(Exception):
    """The hidden tests could not be collected; the text is pytest's own."""


class HiddenTests:
    """The hidden tests, collected and ready to run.

    Args:
        assignment: Its folder of hidden tests is collected.
        devices: The chosen devices, such as ``("cpu", "cuda:0")``. Cases about a second device run on those other than
            the CPU, all other cases on the real ones.
        seed: Varies the inputs of the generated cases.
        properties: The rubric's property ids; tests of others are left out.
        case: The id of the only case to run; None for all.
    """

    def __init__(
        self,
        assignment: Assignment,
        devices: Sequence[str],
        seed: int,
        properties: Iterable[str],
        case: str | None = None,
    ) -> None:
        """Collect the tests.

        Raises:
            HiddenTestsError: If pytest cannot collect them.
        """
        self._folder = assignment.hidden
        self._plugin = Plugin(assignment, devices, seed, frozenset(properties), case)
        self._output = io.StringIO()
        self._thread = threading.Thread(target=self._serve, name="hidden-tests", daemon=True)
        with contextlib.redirect_stdout(self._output), contextlib.redirect_stderr(self._output):
            # pytest keeps the streams that it finds at its start, and writes its report and usage errors there.
            self._thread.start()
            collected = self._plugin.collected.get()
        if not collected:
            raise HiddenTestsError(self._output.getvalue())

    def run(self, student: Student, lender: Lender | None = None, *, plain: bool = False) -> list[CaseResult]:
        """Run every test on one submission.

        Args:
            student: The submission.
            lender: Its workers, which answer what :meth:`rehearse` has recorded; None to ask request by request only.
            plain: Whether to ask request by request for everything, also for what passes on a replay.

        Raises:
            RuntimeError: If pytest has ended.
        """
        return self._answer(lambda: self._plugin.run(student, lender, plain))

    def recordings(self) -> list[Recording]:
        """What each property has asked the reference for, as the rehearsal has recorded it."""
        return list(self._plugin.recordings.values())

    def forget_passes(self) -> None:
        """From now on, judge all replies, also those that have passed before."""
        self._plugin.memory.remembered = 0

    def rehearse(self, reference: Student, start_worker: StartWorker) -> list[CaseResult]:
        """Run every test on the reference, and record its requests.

        Raises:
            RuntimeError: If pytest has ended.
        """
        return self._answer(lambda: self._plugin.rehearse(reference, start_worker))

    def _answer(self, task: Task) -> list[CaseResult]:
        self._plugin.tasks.put(task)
        results = self._plugin.results.get()
        if results is None:
            raise RuntimeError(f"pytest has ended: {self._output.getvalue()[-2000:]}")
        return results

    def _serve(self) -> None:
        torch.set_num_threads(1)
        if simulated(self._plugin.devices):
            second_device.install()  # again, so that backward stays in this thread, too
        options = ["-q", "--json-report-file=none", "--json-report-omit", *OMIT, "-c", "/dev/null"]
        options += [
            f"--rootdir={self._folder}",
            f"--confcutdir={self._folder}",
            "-Wignore",
            "--tb=no",
            "--color=no",
            "--strict-markers",
        ]
        options += [argument for plugin in UNUSED_PLUGINS for argument in ("-p", f"no:{plugin}")]
        try:
            pytest.main(
                [*options, "--import-mode=importlib", str(self._folder)], plugins=[self._plugin, self._plugin.report]
            )
        finally:
            self._plugin.collected.put(False)
            self._plugin.results.put(None)


def hidden_tests_sha256(assignment: Assignment) -> str:
    """A digest of every file that decides a verdict: hidden tests and what they use, comparison, and the reference."""
    judge = Path(__file__).parent
    digest = hashlib.sha256()
    for root, paths in ((judge, sorted(judge.rglob("*.py"))), (assignment.root, assignment.deciding_paths())):
        for path in paths:
            if path.suffix == ".py":
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
