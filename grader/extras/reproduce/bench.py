"""Runs one case of a hidden test against one submission, as a judge does, or under a debugger."""

from __future__ import annotations

import contextlib
import copy
import itertools
import resource
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grader.core.bounds import bound_memory, bound_time
from grader.core.judge.devices import devices
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.run.judge_process import CPU_S, MEMORY_MIB
from grader.core.sandbox.handle import Operation, WorkerLike
from grader.core.sandbox.launch import Zygote, on_gpus
from grader.core.settings import CannotGrade, Settings

from . import DEBUG, DEBUGGING, ENTERED


@dataclass(frozen=True)
class Exchange:
    """One request, and its reply.

    Attributes:
        worker: Counts the workers of the submission from 0; a new one has forgotten what the one before knew.
        own: Whether the submission was asked as it was handed in, and not with another text of one of its files.
        operations: What was asked for, in order.
        reply: ``{"value": ...}`` or ``{"error": ...}``; None where the worker gave no answer.
    """

    worker: int
    own: bool
    operations: Sequence[Operation]
    reply: Mapping[str, Any] | None


@dataclass
class _Noting:
    """A worker that notes its exchanges: the number ``worker``, which holds the files as handed in if ``own``."""

    answering: WorkerLike
    worker: int
    own: bool
    noted: list[Exchange]

    @property
    def spent_s(self) -> float:
        """Seconds that the last request was charged."""
        return self.answering.spent_s

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, Any]:
        """Pass the request on, and note it with its reply."""
        asked, reply = copy.deepcopy(operations), None
        try:
            reply = self.answering.request(operations, timeout_s)
            return reply
        finally:
            self.noted.append(Exchange(self.worker, self.own, asked, reply))

    def close(self) -> None:
        """End the worker."""
        self.answering.close()


@dataclass(frozen=True)
class Reproduction:
    """What came of a case, as a judge has it: ``alone``, or only behind the other cases of its property."""

    result: CaseResult
    exchanges: Sequence[Exchange]
    alone: bool


class Bench:
    """A fork server for one submission, in the isolation and within the limits of grading."""

    def __init__(self, settings: Settings, debugger: bool = False) -> None:
        """Start the fork server with the settings of the grading; workers may know Python's debugger.

        Raises:
            CannotGrade: If there is no such device, or less isolation than the settings require.
        """
        torch.set_num_threads(1)
        self._settings, self._devices = settings, devices(settings.device)
        self._zygote = Zygote(settings.limits, self._devices, settings.without, DEBUGGING if debugger else "")
        if weak := self._zygote.isolation.weaker_than(settings.required_level, "during grading"):
            self.close()
            raise CannotGrade(weak)

    def close(self) -> None:
        """End the fork server and its workers."""
        self._zygote.close()

    def run(self, files: Mapping[str, str], property_id: str, case_id: str) -> Reproduction | None:
        """Run a case alone; if it passes then, behind the other cases of its property.

        Returns:
            None if the hidden tests have no such case any more.
        """
        alone = self._run(files, property_id, case_id, alone=True)
        if alone is None or alone.result.outcome is not Outcome.PASSED:
            return alone
        behind = self._run(files, property_id, case_id, alone=False)
        return alone if behind is None or behind.result.outcome is Outcome.PASSED else behind

    def _run(self, files: Mapping[str, str], property_id: str, case_id: str, alone: bool) -> Reproduction | None:
        """Run a case; alone, twice: what tests find out about a submission once, and remember, belongs to no case."""
        assignment, limits = self._settings.assignment, self._settings.limits
        case = case_id if alone else None
        tests = HiddenTests(assignment, self._devices, self._settings.seed, [property_id], case)
        noted: list[Exchange] = []
        workers = itertools.count()

        def start(held: Mapping[str, str]) -> WorkerLike:
            return _Noting(self._zygote.start(held), next(workers), held == files, noted)

        student, runs = Student(files, start, assignment.rubric, limits), []
        for _ in range(1 + alone):
            with _within_the_judges_limits(memory=not on_gpus(self._devices)):
                results = {result.id: result for result in run_tests(tests, student)}
            if case_id not in results:
                return None
            runs.append((results[case_id], noted[:]))
            noted.clear()
        (first, exchanges), (last, again) = runs[0], runs[-1]
        same = (last.outcome, last.message) == (first.outcome, first.message)
        return Reproduction(first, again if again and same else exchanges, alone)

    def debug(
        self, files: Mapping[str, str], reproduction: Reproduction, answer: Callable[[str], str]
    ) -> dict[str, Any] | None:
        """Repeat the requests of the case; stop in the student's own frame of the last call.

        ``answer`` shows the debugger's words to a person, and gives the line that is typed; an empty one at the end.

        Returns:
            The last reply; None where the case ran no code of the student's.

        Raises:
            WorkerFailed: If the process ends, by a limit or by itself.
        """
        exchanges = [one for one in reproduction.exchanges if one.own]
        last = next((one for one in reversed(exchanges) if any(name in ENTERED for name, _ in one.operations)), None)
        if last is None:
            return None
        before = [one for one in exchanges[: exchanges.index(last)] if one.worker == last.worker]
        worker = self._zygote.start(files)
        try:
            for one in before:
                worker.request(one.operations, self._settings.limits.submission_s)
            crashes = {"crashes": reproduction.result.outcome is Outcome.CRASHED}
            return worker.converse([(DEBUG, crashes), *last.operations], answer)
        finally:
            worker.close()


@contextlib.contextmanager
def _within_the_judges_limits(memory: bool) -> Iterator[None]:
    """Bound what judging may take of memory and CPU time, as in a judge's own process; undone at the end.

    Raises:
        CannotGrade: If the time is used up.
    """

    def used_up(*_: object) -> None:
        raise CannotGrade(f"judging the output takes more than {CPU_S} s of CPU time, as it did during grading.")

    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU)
    before = [resource.getrlimit(kind) for kind in kinds]
    handler = signal.signal(signal.SIGXCPU, used_up)
    try:
        bound_time(CPU_S)
        if memory:
            bound_memory(MEMORY_MIB)
        yield
    finally:
        for kind, limits in zip(kinds, before, strict=True):
            resource.setrlimit(kind, limits)
        signal.signal(signal.SIGXCPU, handler)
