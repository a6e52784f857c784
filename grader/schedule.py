"""Hands submissions to judges, as many at a time as asked, and gives their reports as they finish.

Each judge has a pipe of its own, so a judge that dies, stalls or makes a mistake is known together with the submission
that it was at. None of that costs anyone a point: a new judge takes its place and the submission is tried again; if
that fails too, its report says that it was the grader.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait

from .intake.candidate import Candidate
from .judge_process import Failure, JudgeProcess
from .results.report import Report
from .settings import Settings

ATTEMPTS = 3


class GradingFailed(Exception):
    """Judges fail here, whatever the submission; the text says how the last one did."""


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
class _Turn:
    """A submission whose turn will come, or has.

    Attributes:
        number: Of the attempt.
        failure: How the attempt before ended.
    """

    candidate: Candidate
    number: int = 1
    failure: str = ""


@dataclass
class _Seat:
    """A judge and what it is at: ``turn`` is None while it starts, and when it has nothing to do."""

    judge: JudgeProcess
    deadline: float
    ready: bool = False
    turn: _Turn | None = None


def grade_all(
    candidates: Sequence[Candidate], settings: Settings, jobs: int, patience: Patience | None = None
) -> Generator[Report, None, None]:
    """Grade every candidate with ``jobs`` judges; reports come in the order in which they finish.

    However it ends, no judge is left: closing the generator kills them, and the end of this process is theirs too.

    Raises:
        GradingFailed: If judges keep failing without having looked at any submission.
        CannotGrade: If the settings fit no judge on this machine.
    """
    patience = patience or Patience()
    waiting = deque(map(_Turn, candidates))
    seats: list[_Seat] = []
    failures_in_a_row = 0  # without a submission that could be the cause
    try:
        while waiting or any(seat.turn for seat in seats):
            while len(seats) < jobs and sum(seat.turn is None for seat in seats) < len(waiting):
                seats.append(_Seat(JudgeProcess(settings), time.monotonic() + patience.start_s))
            _hand_out(waiting, seats, settings.limits.submission_s + patience.margin_s)
            for seat in _first_to_speak(seats):
                turn, answer = seat.turn, seat.judge.answer()
                seat.ready, seat.turn, seat.deadline = True, None, math.inf
                failure = _failure(answer)
                if failure:  # of whatever kind: a new judge, with a new fork server, has no part in it
                    seats.remove(seat)
                    seat.judge.kill()
                    seat.judge.join()
                if turn and isinstance(answer, Report) and (not failure or turn.number >= ATTEMPTS):
                    yield answer
                elif turn:
                    waiting.append(_Turn(turn.candidate, turn.number + 1, failure))
                if turn is None or turn.number > ATTEMPTS:
                    failures_in_a_row = failures_in_a_row + 1 if isinstance(answer, Failure) else 0
                if failures_in_a_row == ATTEMPTS:
                    raise GradingFailed(f"{ATTEMPTS} judges in a row failed without a submission: {failure}")
    finally:
        for seat in seats:
            seat.judge.kill()
        for seat in seats:
            seat.judge.join()


def _hand_out(waiting: deque[_Turn], seats: Sequence[_Seat], work_s: float) -> None:
    """Give work to judges that are ready for it; after the last attempt, only that of reporting the failure."""
    for seat in seats:
        if seat.ready and seat.turn is None and waiting:
            turn = seat.turn = waiting.popleft()
            seat.deadline = time.monotonic() + work_s
            seat.judge.ask(turn.candidate, turn.failure if turn.number > ATTEMPTS else None)


def _first_to_speak(seats: Sequence[_Seat]) -> list[_Seat]:
    """Wait until judges have something to say or are out of time; gives those."""
    left_s = min(seat.deadline for seat in seats) - time.monotonic()
    speaking = wait([seat.judge.pipe for seat in seats], None if left_s == math.inf else max(left_s, 0))
    return [seat for seat in seats if seat.judge.pipe in speaking or seat.deadline < time.monotonic()]


def _failure(answer: Report | Failure | None) -> str:
    """What went wrong on our side; empty if nothing did."""
    if isinstance(answer, Report):
        return (answer.reason or "for no known reason") if answer.status == "grader_error" else ""
    return answer.reason if answer else ""
