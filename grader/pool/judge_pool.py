"""One submission, one judge: the job that every executor carries out, and the judges that it finds where it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..intake.submission import Submission
from ..results.report import Report
from ..settings import CannotGrade, Settings
from .judge_process import Failure, JudgeProcess

KEEP_S = 30.0  # an idle judge holds some 100 MiB, and whoever wanted it may have gone


@dataclass(frozen=True)
class Patience:
    """Wall-clock seconds after which a judge counts as stalled.

    Attributes:
        start_s: For imports, the fork server and the rehearsal.
        margin_s: For each property, on top of what the submission may compute: the judge's own work.
        load: How many times as long a submission may take as on an idle machine.
    """

    start_s: float = 600.0
    margin_s: float = 60.0
    load: float = 4.0


@dataclass(frozen=True)
class Job:
    """What travels to where it is graded: text and settings, and no path, which would mean nothing there.

    Attributes:
        failure: Why it is only to be reported that this submission cannot be graded; None to grade it.
        condemned: Properties over which judges have died; nothing is asked for them.
        rubric_sha256: Of the rubric where the job was made; the assignment itself travels by name.
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
    """The warm judges of this process, for whichever of its threads has a job."""

    def __init__(self) -> None:
        """Without a judge; the first is started when a job needs one."""
        self._lock = threading.Lock()
        self._idle: dict[JudgeProcess, threading.Timer] = {}
        self._closed = False

    def grade(self, job: Job, abandoned: Callable[[], bool]) -> Report | Failure:
        """Have a judge carry out the job. After a failure of whatever kind it is ended, with its fork server.

        Raises:
            Abandoned: As soon as ``abandoned()`` says that nobody waits for the answer any more.
            CannotGrade: If the settings fit no judge on this machine.
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
        timer = threading.Timer(KEEP_S, self._end, [judge])
        timer.daemon = True
        with self._lock:
            self._idle[judge] = timer
            timer.start()
        if self._closed:
            self._end(judge)

    def _end(self, judge: JudgeProcess) -> None:
        """End an idle judge, unless it has found work, or its end, meanwhile."""
        with self._lock:
            timer = self._idle.pop(judge, None)
        if timer:
            timer.cancel()
            judge.end()

    def close(self) -> None:
        """End those that are idle; from now on none is kept."""
        self._closed = True
        for judge in list(self._idle):
            self._end(judge)


@dataclass(frozen=True)
class Place:
    """Where a job runs, as its executor knows it.

    Attributes:
        judges: Those of this process.
        abandoned: Whether nobody waits for the job any more. No executor can end a thread, so the job has to look.
    """

    judges: JudgePool
    abandoned: Callable[[], bool]


PLACE: ContextVar[Place] = ContextVar("PLACE")  # set by an executor, in the thread that runs the job


def grade_submission(job: Job) -> Report | Failure:
    """The job itself: a module's function, so that another machine finds it by its name."""
    if job.settings.assignment.rubric.sha256 != job.rubric_sha256:
        raise CannotGrade("a worker has another rubric than this machine. Install the same grader on both.")
    place = PLACE.get()
    return place.judges.grade(job, place.abandoned)
