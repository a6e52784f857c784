"""Hands submissions to an executor, as many at a time as it has slots, and gives their reports as they finish.

A judge that dies, stalls or makes a mistake, and a machine that goes away, cost nobody a point: the submission is tried
again with another judge; if that fails too, its report says that it was the grader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass

from .executors.base import Executor
from .intake.submission import Submission
from .judge_process import Failure
from .judges import Patience, Task, grade_submission
from .results.report import Report
from .settings import CannotGrade, Settings

ATTEMPTS = 3
LOOK_S = 1.0  # between two looks at how many slots there are


class GradingFailed(Exception):
    """Judges fail here, whatever the submission; the text says how the last one did."""


@dataclass(frozen=True)
class _Turn:
    """A submission whose turn will come, or has.

    Attributes:
        number: Of the attempt. After the last there is one more, which only reports the failure.
        failure: How the attempt before ended.
    """

    submission: Submission
    number: int = 1
    failure: str = ""

    def task(self, settings: Settings, patience: Patience) -> Task:
        """What is to be done. Over some submissions judges die, so the files of those stay here in the end."""
        if self.number > ATTEMPTS:
            return Task(Submission(self.submission.id), settings, patience, self.failure)
        return Task(self.submission, settings, patience)


def grade_all(
    submissions: Iterable[Submission], settings: Settings, executor: Executor, patience: Patience | None = None
) -> Generator[Report, None, None]:
    """Grade every submission; reports come in the order in which they finish.

    Submissions are taken one by one as slots become free, so a generator that reads them holds few at a time. However
    it ends, closed or by an exception, what is still under way is abandoned.

    Raises:
        GradingFailed: If judges keep failing without having looked at any submission, or the executor has gone.
        CannotGrade: If the settings fit no judge.
    """
    patience = patience or Patience()
    waiting = map(_Turn, submissions)
    again: deque[_Turn] = deque()
    under_way: dict[Future[Report | Failure], _Turn] = {}
    failures_in_a_row = 0  # without a submission that could be the cause
    try:
        while True:
            slots = executor.slots
            while len(under_way) < slots and (turn := next(waiting, None) or (again.popleft() if again else None)):
                under_way[executor.submit(grade_submission, turn.task(settings, patience))] = turn
            if not under_way:
                return
            done, _ = wait(under_way, LOOK_S, FIRST_COMPLETED)
            for future in done:
                turn, answer = under_way.pop(future), _answer(future, executor)
                failure = _failure(answer)
                if isinstance(answer, Report) and (not failure or turn.number >= ATTEMPTS):
                    yield answer
                else:
                    begun = isinstance(answer, Report) or answer.begun
                    again.append(_Turn(turn.submission, turn.number + begun, failure))
                blameless = isinstance(answer, Failure) and (not answer.begun or turn.number > ATTEMPTS)
                failures_in_a_row = failures_in_a_row + 1 if blameless else 0
                if failures_in_a_row == ATTEMPTS:
                    raise GradingFailed(f"{ATTEMPTS} judges in a row failed without a submission: {failure}")
    finally:
        for future in under_way:
            future.cancel()


def _answer(future: Future[Report | Failure], executor: Executor) -> Report | Failure:
    """What came of a task, whatever it was.

    Raises:
        GradingFailed: If the executor has gone.
        CannotGrade: If that is what a judge says.
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
    """What went wrong on our side; empty if nothing did."""
    if isinstance(answer, Failure):
        return answer.reason
    return (answer.reason or "for no known reason") if answer.status == "grader_error" else ""
