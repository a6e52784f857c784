"""The job that executors run, one for each submission, and the pool of warm judge processes that grades it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..intake.submission import Submission
from ..results.report import Report
from ..settings import CannotGrade, Settings
from .judge_process import Failure, JudgeProcess

KEEP_S = 30.0  # after that an idle judge ends, since it holds some 100 MiB


@dataclass(frozen=True)
class Patience:
    """Wall-clock seconds after which a judge counts as stalled.

    Attributes:
        start_s: For a judge to start: to import torch, start its fork server, and grade the reference.
        margin_s: For the judge's own work on one property, added to the submission's time limit.
        load: Factor on the submission's time limit, for a machine that is busy.
    """

    start_s: float = 600.0
    margin_s: float = 60.0
    load: float = 4.0


@dataclass(frozen=True)
class Job:
    """Everything that grading one submission needs. It may run on another machine, so it holds no path.

    Attributes:
        failure: None to grade the submission; otherwise the reason to report that it cannot be graded.
        condemned: Ids of properties over which judges have died. They are failed without running any test.
        rubric_sha256: The digest of the rubric on the machine that made the job; the assignment is sent by name.
    """

    submission: Submission
    settings: Settings
    patience: Patience
    failure: str | None = None
    condemned: frozenset[str] = frozenset()
    rubric_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubric_sha256", self.settings.assignment.rubric.sha256)


class JudgePool:
    """The judge processes that this process has started; threads take them from here and put them back."""

    def __init__(self, keep_s: float = KEEP_S) -> None:
        """Start with no judge: :meth:`grade` starts one when no idle judge has the right settings.

        Args:
            keep_s: Seconds after which an idle judge ends.
        """
        self._keep_s = keep_s
        self._lock = threading.Lock()
        self._idle: dict[JudgeProcess, threading.Timer] = {}
        self._closed = False

    def grade(self, job: Job, abandoned: Callable[[], bool]) -> Report | Failure:
        """Grade the submission of a job in an idle or a new judge process. A judge that fails is ended.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
            CannotGrade: If this machine cannot grade with these settings.
        """
        judge = self._idle_one(job.settings) or JudgeProcess(job.settings)
        keep = False
        try:
            if not judge.ready and (failure := judge.answer(job.patience.start_s, abandoned)):
                return Failure(failure.reason or "", begun=False)
            judge.ask(job.submission, job.failure, job.condemned)
            within_s = job.settings.limits.submission_s * job.patience.load + job.patience.margin_s
            answer = judge.answer(within_s, abandoned)
            assert answer is not None, "only a judge that starts says that it is ready"
            keep = isinstance(answer, Report) and answer.status != "grader_error"
            return answer
        finally:
            if keep:
                self._keep(judge)
            else:
                judge.end()

    def _idle_one(self, settings: Settings) -> JudgeProcess | None:
        with self._lock:
            judge = next((judge for judge in self._idle if judge.settings == settings), None)
            if judge:
                self._idle.pop(judge).cancel()
            return judge

    def _keep(self, judge: JudgeProcess) -> None:
        timer = threading.Timer(self._keep_s, self._end, [judge])
        timer.daemon = True
        with self._lock:
            self._idle[judge] = timer
            timer.start()
        if self._closed:
            self._end(judge)

    def _end(self, judge: JudgeProcess) -> None:
        """End a judge if it is still idle."""
        with self._lock:
            timer = self._idle.pop(judge, None)
        if timer:
            timer.cancel()
            judge.end()

    def close(self) -> None:
        """End the idle judges; those at work end after their job."""
        self._closed = True
        for judge in list(self._idle):
            self._end(judge)


@dataclass(frozen=True)
class Place:
    """What an executor tells a job about the process that runs it.

    Attributes:
        judges: The judges of this process.
        abandoned: Whether the job has been cancelled. A thread cannot be ended from outside, so the job asks.
    """

    judges: JudgePool
    abandoned: Callable[[], bool]


PLACE: ContextVar[Place] = ContextVar("PLACE")  # set by an executor, in the thread that runs the job


def grade_submission(job: Job) -> Report | Failure:
    """Run a job. This is a function of a module, so that it can be sent to another machine by its name.

    Raises:
        CannotGrade: If the rubric here differs from the one on the machine that made the job.
    """
    if job.settings.assignment.rubric.sha256 != job.rubric_sha256:
        raise CannotGrade("a worker has another rubric than this machine. Install the same grader on both.")
    place = PLACE.get()
    return place.judges.grade(job, place.abandoned)
