"""Hands submissions to an executor, as many at a time as it has slots, and gives their reports as they finish.

If a judge dies, stalls or fails, or a machine goes away, the submission is tried again with another judge. After
``ATTEMPTS`` attempts its report says that the grader failed, which costs no points. But if two judges in a row die or
stall at the same property, or one uses up its CPU time there, then the code of the submission is the cause, and the
submission loses the points of that task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from functools import partial

from grader.core.intake.submission import Submission
from grader.core.messages import UserError
from grader.core.results.report import Report
from grader.core.settings import CannotGrade, Settings

from .executors import ATTEMPTS, Executor, Job
from .judge_process import Failure

LOOK_S = 1.0  # between two looks at how many slots there are


class GradingFailed(UserError):
    """Judges fail on every submission, or the executor cannot run jobs any more."""

    code = 3


def grade_all(
    submissions: Iterable[Submission], settings: Settings, executor: Executor
) -> Generator[Report, None, None]:
    """Grade every submission; reports come in the order in which they finish.

    Submissions are taken one by one as slots become free, so that few of them are in memory at a time. When this
    generator is closed or raises, it cancels the jobs that have not begun; the executor ends the others.

    Raises:
        GradingFailed: If judges keep failing before they start on a submission, or the executor has gone.
        CannotGrade: If this machine, or a worker, cannot grade with these settings.
    """
    waiting = map(partial(Job, settings=settings), submissions)
    again: deque[Job] = deque()
    under_way: dict[Future[Report | Failure], Job] = {}
    failures_in_a_row = 0  # of judges without a submission's files, so that no submission can be the cause
    try:
        while True:
            slots = executor.slots
            while len(under_way) < slots and (job := next(waiting, None) or (again.popleft() if again else None)):
                under_way[executor.submit(job)] = job
            if not under_way:
                return
            done, _ = wait(under_way, LOOK_S, FIRST_COMPLETED)
            for future in done:
                job, answer = under_way.pop(future), _answer(future, executor)
                failure = _failure(answer)
                if isinstance(answer, Report) and (not failure or job.number >= ATTEMPTS):
                    yield answer
                else:
                    again.append(job.after(answer if isinstance(answer, Failure) else Failure(failure)))
                blameless = isinstance(answer, Failure) and (not answer.begun or job.given_up)
                failures_in_a_row = failures_in_a_row + 1 if blameless else 0
                if failures_in_a_row == ATTEMPTS:
                    raise GradingFailed(f"{ATTEMPTS} judges in a row failed without a submission: {failure}")
    finally:
        for future in under_way:
            future.cancel()


def _answer(future: Future[Report | Failure], executor: Executor) -> Report | Failure:
    """The result of a job; an unexpected exception becomes a ``Failure``.

    Raises:
        GradingFailed: If the executor has gone.
        CannotGrade: If the judge cannot grade with its settings.
    """
    try:
        return future.result()
    except CannotGrade:
        raise
    except CancelledError:
        raise GradingFailed(executor.gone) from None
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", begun=isinstance(error, executor.killers))


def _failure(answer: Report | Failure) -> str:
    """How the grader failed; empty if it did not."""
    if isinstance(answer, Failure):
        return answer.reason
    return (answer.reason or "for no known reason") if answer.status == "grader_error" else ""
