"""The job that executors run, one for each submission, and the pool of warm judge processes that grades it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.settings import CannotGrade, Settings

from .judge_process import LOOK_S, Abandoned, Failure, JudgeProcess

KEEP_S = 30.0  # after so many seconds an idle judge ends, since it holds some 100 MiB
# Wall-clock seconds after which a judge counts as stalled.
START_S = 600.0  # to import torch, start its fork server, and grade the reference
MARGIN_S = 60.0  # for the judge's own work on one property, added to the submission's time limit
LOAD = 4.0  # factor on the submission's time limit, for a machine that is busy
STARTING = max(1, (os.cpu_count() or 1) // 2)  # judges that start at a time; each computes in two processes


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
    failure: str | None = None
    condemned: frozenset[str] = frozenset()
    rubric_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubric_sha256", self.settings.assignment.rubric.sha256)


class JudgePool:
    """The judge processes that this process has started; threads take them from here and put them back.

    Attributes:
        readied: How many judges have become ready so far.
    """

    def __init__(self) -> None:
        """Start with no judge: :meth:`grade` starts one when no idle judge has the right settings."""
        self._changed = threading.Condition()
        self._starting = self.readied = 0
        self._idle: dict[JudgeProcess, threading.Timer] = {}
        self._closed = False

    def grade(self, job: Job, abandoned: Callable[[], bool]) -> Report | Failure:
        """Grade the submission of a job in an idle or a new judge process. A judge that fails is ended.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
            CannotGrade: If this machine cannot grade with these settings.
        """
        judge = self._take(job.settings, abandoned)
        keep = False
        try:
            if not judge.ready and (failure := self._first_answer(judge, abandoned)):
                return Failure(failure.reason or "", begun=False)
            judge.ask(job.submission, job.failure, job.condemned)
            within_s = job.settings.limits.submission_s * LOAD + MARGIN_S
            answer = judge.answer(within_s, abandoned)
            assert answer is not None, "only a starting judge reports that it is ready"
            keep = isinstance(answer, Report) and answer.status != "grader_error"
            return answer
        finally:
            if keep:
                self._keep(judge)
            else:
                judge.end()

    def _take(self, settings: Settings, abandoned: Callable[[], bool]) -> JudgeProcess:
        """An idle judge, or a new one once there is room for it to start.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
        """
        with self._changed:
            while True:
                judge = next((judge for judge in self._idle if judge.settings == settings), None)
                if judge:
                    self._idle.pop(judge).cancel()
                    return judge
                if self._starting < STARTING:
                    self._starting += 1
                    break
                self._changed.wait(LOOK_S)
                if abandoned():
                    raise Abandoned
        try:
            return JudgeProcess(settings)
        except BaseException:
            self._has_started()
            raise

    def _first_answer(self, judge: JudgeProcess, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """None once the judge is ready, or how it failed; then the next judge may start."""
        try:
            answer = judge.answer(START_S, abandoned)
            self.readied += answer is None
            return answer
        finally:
            self._has_started()

    def _has_started(self) -> None:
        with self._changed:
            self._starting -= 1
            self._changed.notify_all()

    def _keep(self, judge: JudgeProcess) -> None:
        timer = threading.Timer(KEEP_S, self._end, [judge])
        timer.daemon = True
        with self._changed:
            self._idle[judge] = timer
            timer.start()
            self._changed.notify()
        if self._closed:
            self._end(judge)

    def _end(self, judge: JudgeProcess) -> None:
        """End a judge if it is still idle."""
        with self._changed:
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
        raise CannotGrade("a worker's rubric differs from this machine's. Install the same grader on both.")
    place = PLACE.get()
    return place.judges.grade(job, place.abandoned)
