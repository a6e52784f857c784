"""One submission from text to report: hidden tests, outcomes, diagnosis, score."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import torch

from grader import __version__
from grader.core.intake.submission import Submission
from grader.core.messages import Message, as_data
from grader.core.results.outcome import ALONE, NOTHING_LOST, CaseResult, Outcome, by_property, property_outcome
from grader.core.results.report import (
    CaseReport,
    Environment,
    PropertyReport,
    Provenance,
    Report,
    SourceFile,
    Status,
    SubmissionInfo,
    TaskReport,
)
from grader.core.results.views import viewed
from grader.core.rubric import Task
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.launch import Zygote, on_gpus
from grader.core.sandbox.limits import Isolation
from grader.core.settings import CannotGrade, Settings

from .conditions import with_conditions
from .devices import devices, label
from .hidden_tests import HiddenTests
from .judging import rehearse, run_tests
from .replay import Lender
from .student import StartWorker, Student


class Judge:
    """A judge with its fork server, ready to grade one submission after another."""

    def __init__(self, settings: Settings) -> None:
        """Collect the hidden tests, start the fork server, and rehearse on the reference.

        Raises:
            CannotGrade: If the chosen device does not exist, the isolation is less than required, the hidden tests
                cannot be collected, or the reference itself loses a point.
        """
        torch.set_num_threads(1)
        self._settings = settings
        self._assignment = settings.assignment
        self._rubric = self._assignment.rubric.only(settings.only)
        self._devices = devices(settings.device)
        self._limits = settings.limits.beside_others_on_a_gpu() if on_gpus(self._devices) else settings.limits
        self._zygote = Zygote(self._limits, self._devices, settings.without)
        try:
            self._tests = HiddenTests(self._assignment, self._devices, settings.seed, self._rubric.properties)
            self._tests_sha256 = self._assignment.code_sha256()
            self._tests.remembers = settings.remember
            self._rehearse()
            if weak := self.isolation.weaker_than(settings.required_level):
                raise CannotGrade(weak)
        except BaseException:
            self.close()
            raise

    def _rehearse(self) -> None:
        """Judge the reference, so that lazy imports and oracles are done before the first submission needs them.

        With a GPU, judge it in a worker too: only a trial tells whether the GPU's driver starts within the limits.
        """
        solution = self._assignment.solution()
        reference = self._student(solution, InProcessWorker)
        asked_for = {name for task in self._rubric.tasks for name in task.names}
        if taken := sorted(asked_for.intersection(dir(reference))):
            raise CannotGrade(f"the rubric asks for {taken[0]!r}, a name of the grader's in hidden tests; rename it.")
        self._require_full_marks(rehearse(self._tests, reference))
        if on_gpus(self._devices):
            lender = Lender(self._zygote.start)
            self._require_full_marks(run_tests(self._tests, self._student(solution, lender.start), lender))
            lender.end_idle()

    def _require_full_marks(self, results: Iterable[CaseResult]) -> None:
        for result in results:
            if result.outcome not in NOTHING_LOST:
                message = str(result.detail or result.message).replace("src/", "ref/")  # where the frames are
                case = f"{result.property_id}, {result.id}: {message}"
                raise CannotGrade(f"the reference fails a hidden test, so nothing can be graded. {case}")

    def _student(self, files: Mapping[str, str], start: StartWorker | None = None, *more: Any) -> Student:
        return Student(files, start or self._zygote.start, self._assignment.rubric, self._limits, *more)

    def close(self) -> None:
        """End the fork server."""
        self._zygote.close()

    def grade(
        self,
        submission: Submission,
        condemned: Collection[str] = (),
        announce: Callable[[str], object] = lambda _: None,
    ) -> Report:
        """Grade one submission; one that cannot be read is not run.

        Args:
            submission: What was handed in.
            condemned: Properties during which a judge has died; no worker is asked for them.
            announce: Called with each property's id before the property is judged.
        """
        started, clock = datetime.now(UTC), time.monotonic()
        if submission.reason is not None:
            return self._report(submission, None, submission.reason, started, clock)
        lender = Lender(self._zygote.start)
        start = None if self._settings.plain else lender.start
        student = self._student(submission.files, start, condemned, announce)
        results = run_tests(self._tests, student, lender, plain=self._settings.plain)
        properties: dict[str, PropertyReport] = {}
        by_name = by_property(self._rubric, results)
        for name, cases in by_name.items():
            mistake = None
            if (outcome := property_outcome(cases)) is Outcome.FAILED:
                cases, mistake = self._diagnosed(student, name, cases)
            properties[name] = _property_report(name, outcome, cases, mistake)
        student.start_afresh()
        lender.end_idle()
        return self._report(submission, properties, _grader_error(by_name), started, clock)

    def _diagnosed(self, student: Student, name: str, cases: list[CaseResult]) -> tuple[list[CaseResult], str | None]:
        """The cases of a failed property, and the mistake behind them, if one is known.

        Where none is, the first failing case is run again with no other before it, unless that was once in vain. If it
        passes then, its message says so, and the mistake follows from that.
        """
        diagnosis = self._assignment.part("diagnose")
        first = next(case for case in cases if case.outcome is Outcome.FAILED)
        mistake: str | None = diagnosis.diagnose(student, name, _failing(cases))
        if mistake is not None or first is cases[0]:
            return cases, mistake
        if not student.passes_alone(lambda: self._tests.passes(student, first), name):
            return cases, None
        told = replace(first, message=first.message.then(ALONE))
        cases = [told if case is first else case for case in cases]
        return cases, diagnosis.diagnose(student, name, _failing(cases))

    def give_up(self, identifier: str, reason: str) -> Report:
        """The report of a submission at which judges died; its files are not opened here, to be safe."""
        reason = reason or "for no known reason"
        return self._report(Submission(identifier), {}, reason, datetime.now(UTC), time.monotonic())

    def _report(
        self,
        submission: Submission,
        properties: Mapping[str, PropertyReport] | None,
        reason: str,
        started: datetime,
        clock: float,
    ) -> Report:
        """The report, with points by the rubric; ``properties`` is None if the submission cannot be read.

        With a ``reason``, it is not graded: since it cannot be read, or since the grader failed.
        """
        status: Status = "unreadable" if properties is None else "grader_error" if reason else "graded"
        nothing = 0.0 if status == "graded" else None  # `viewed` adds points
        report = Report(
            assignment=self._rubric.id,
            submission=_submission_info(submission),
            status=status,
            reason=str(reason) if reason else None,
            reason_parts=as_data(reason),
            score=nothing,
            max_score=0,
            bonus=nothing,
            max_bonus=0,
            tasks=[_task_report(task, properties) for task in self._rubric.tasks if properties],
            environment=Environment(
                python=platform.python_version(),
                torch=torch.__version__,
                devices=[str(label(device)) for device in self._devices],
                isolation=str(self.isolation),
            ),
            provenance=Provenance(
                grader_version=__version__,
                rubric_sha256=self._rubric.sha256,
                hidden_tests_sha256=self._tests_sha256,
                seed=self._settings.seed,
                started_at=started.isoformat(timespec="seconds"),
                duration_s=round(time.monotonic() - clock, 3),
                command=self._settings.command,
            ),
        )
        return viewed(report, self._assignment, self._settings.only)

    @property
    def isolation(self) -> Isolation:
        """The isolation that the fork server has on this machine."""
        return self._zygote.isolation


def _submission_info(submission: Submission) -> SubmissionInfo:
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(submission.files.items())}
    return SubmissionInfo(
        id=submission.id,
        sha256=submission.sha256,
        files=[SourceFile(path=path, sha256=digest) for path, digest in digests.items()],
        notices=list(map(str, submission.notices)),
        notice_parts=list(map(as_data, submission.notices)),
    )


def _task_report(task: Task, properties: Mapping[str, PropertyReport]) -> TaskReport:
    """A task's report, still without points."""
    results = [properties[prop.id] for prop in task.properties]
    return TaskReport(id=task.id, title=task.title, score=0, max_score=0, properties=results)


def _failing(cases: Iterable[CaseResult]) -> dict[str, Message]:
    """What the failing cases say, by id."""
    return {case.id: case.message for case in cases if case.outcome is Outcome.FAILED}


def _property_report(name: str, outcome: Outcome, cases: Sequence[CaseResult], mistake: str | None) -> PropertyReport:
    """A property's report, still without points, title and hint."""
    return PropertyReport(
        id=name,
        title="",
        points=0,
        max_points=0,
        outcome=outcome,
        misconception=mistake,
        cases=list(map(_case_report, with_conditions(cases))),
    )


def _case_report(case: CaseResult) -> CaseReport:
    finite = case.error_ulp is not None and case.error_ulp < float("inf")
    return CaseReport(
        id=case.id,
        outcome=case.outcome,
        error_ulp=float(f"{case.error_ulp:.4g}") if finite else None,
        limit_ulp=float(f"{case.limit_ulp:.4g}") if case.limit_ulp is not None else None,
        elements=case.elements,
        message=str(case.message),
        parts=as_data(case.message),
    )


def _grader_error(by_name: Mapping[str, Sequence[CaseResult]]) -> str:
    """Where and how the grader failed, for the teaching assistant; empty if it did not."""
    cases = (case for cases in by_name.values() for case in cases)
    error = next((case for case in cases if case.outcome is Outcome.GRADER_ERROR), None)
    return f"{error.property_id}, {error.id}: {error.detail or error.message}" if error else ""
