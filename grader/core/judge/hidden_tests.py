"""The hidden tests as a function from a submission to case results: pytest collects them once, and they run often."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Sequence

import pytest
import torch

from grader.core.assignment import Assignment
from grader.core.results.outcome import CaseResult
from grader.shared import second_device

from .cases import Latest
from .devices import simulated
from .excuses import settled
from .judging import Judging, Results
from .plugin import Plugin
from .record import Recording
from .replay import Lender
from .student import Student

UNUSED_PLUGINS = (
    *("cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin"),
    *("setuponly", "setupplan", "stepwise", "tmpdir", "unraisableexception", "threadexception", "warnings"),
)
MOST_REMEMBERED = 4096  # properties that passed; the verdicts of one take some KiB


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
        self.assignment, self.seed = assignment, seed
        self.plugin = Plugin(devices, seed, frozenset(properties), case)
        self.recordings: dict[str, Recording] = {}  # by property, what it has asked the reference for
        self.passed: Latest[tuple[str, bytes], Results] = Latest(MOST_REMEMBERED)  # by property and digest of replies
        folder = assignment.hidden
        torch.set_num_threads(1)
        if simulated(devices):
            second_device.install()  # so that backward stays in this thread
        options = ["-q", "--collect-only", "-c", "/dev/null", f"--rootdir={folder}", f"--confcutdir={folder}"]
        options += [
            "--disable-plugin-autoload",
            "-Wignore",
            "--tb=short",
            "--color=no",
            "--strict-markers",
            "--import-mode=importlib",
        ]
        options += [argument for plugin in UNUSED_PLUGINS for argument in ("-p", f"no:{plugin}")]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            ended = pytest.main([*options, str(folder)], plugins=[self.plugin])
        if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise HiddenTestsError(output.getvalue())

    def run(self, student: Student, lender: Lender | None = None, *, plain: bool = False) -> list[CaseResult]:
        """Run every test on one submission.

        Args:
            student: The submission.
            lender: Its workers, which answer what :meth:`rehearse` has recorded; None to ask request by request only,
                each property of a new one.
            plain: Whether to ask request by request for everything, also for what passes on a replay.
        """
        student.seed = self.seed
        decided = Judging(self, student, lender, plain=plain).results()
        student.start_afresh()
        in_order = [decided[test.nodeid] for tests in self.plugin.tests.values() for test in tests]
        return settled(in_order, self.task_of)

    def rehearse(self, reference: Student) -> list[CaseResult]:
        """Run every test on the reference, and record the requests of those properties whose tests are all plain."""
        reference.seed = self.seed
        judging = Judging(self, reference, None)
        for prop, tests in self.plugin.tests.items():
            noted = judging.ask(prop, None)
            if all(test.nodeid in self.plugin.plain for test in tests) and (recording := noted.recording()):
                self.recordings[prop] = recording
        reference.start_afresh()
        return settled(list(judging.asked.values()), self.task_of)

    def task_of(self, prop: str) -> str:
        """The id of the task that a property belongs to."""
        return self.assignment.rubric.task_of(prop).id

    def forget_passes(self) -> None:
        """From now on, judge all replies, also those that have passed before."""
        self.passed.most = 0
