"""One submission, one judge: the task that every executor carries out, and the judges that it finds where it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from .intake.submission import Submission
from .judge_process import Failure, JudgeProcess
from .results.report import Report
from .settings import Settings

KEEP_S = 30.0  # an idle judge holds some 100 MiB, and whoever wanted it may have gone


@dataclass(frozen=True)
class Patience:
    """Wall-clock seconds after which a judge counts as stalled.

    Attributes:
        start_s: For imports, the fork server and the rehearsal.
        margin_s: For one submission, on top of its own limit: the judge's own work.
    """

    start_s: float = 120.0
    margin_s: float = 60.0


@dataclass(frozen=True)
class Task:
    """What travels to where it is graded: text and settings, and no path, which would mean nothing there.

    Attributes:
        failure: Why it is only to be reported that this submission cannot be graded; None to grade it.
    """

    submission: Submission
    settings: Settings
    patience: Patience
    failure: str | None = None


class Judges:
    """The warm judges of one process, for whichever of its threads has a task."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._idle: dict[JudgeProcess, threading.Timer] = {}
        self._closed = False

    def grade(self, task: Task, abandoned: Callable[[], bool]) -> Report | Failure:
        """Have a judge carry out the task. After a failure of whatever kind it is ended, with its fork server.

        Raises:
            Abandoned: As soon as ``abandoned()`` says that nobody waits for the answer any more.
            CannotGrade: If the settings fit no judge on this machine.
        """
        judge = self._idle_one(task.settings) or JudgeProcess(task.settings)
        keep = False
        try:
            if not judge.ready and (failure := judge.answer(task.patience.start_s, abandoned)):
                return Failure(failure.reason or "", begun=False)
            judge.ask(task.submission, task.failure)
            answer = judge.answer(task.settings.limits.submission_s + task.patience.margin_s, abandoned)
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
    """Where a task runs, as its executor knows it.

    Attributes:
        judges: Those of this process.
        abandoned: Whether nobody waits for the task any more. No executor can end a thread, so the task has to look.
    """

    judges: Judges
    abandoned: Callable[[], bool]


PLACE: ContextVar[Place] = ContextVar("PLACE")  # set by an executor, in the thread that runs the task


def grade_submission(task: Task) -> Report | Failure:
    """The task itself: a module's function, so that another machine finds it by its name."""
    place = PLACE.get()
    return place.judges.grade(task, place.abandoned)
