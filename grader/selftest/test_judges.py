"""Warm judges: kept between tasks, one for each kind of settings, and not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import ClassVar

import pytest

from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.run import executors, judge_process
from grader.core.run.executors import Job, JudgePool
from grader.core.run.judge_process import Abandoned, Failure, JudgeProcess
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import report


class Puppet:
    """A judge without a process. Its answers are those of the class."""

    made: list[Puppet]
    answers: list[Report | Failure]

    def __init__(self, settings: Settings) -> None:
        self.settings, self.ready, self.ended, self.alive = settings, False, threading.Event(), True
        self.made.append(self)

    def ask(self, submission: Submission, failure: str | None, condemned: Collection[str]) -> None:
        """Nothing to do."""

    def answer(self, within_s: float, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """Ready at first; then the next answer."""
        assert within_s > 0
        assert not abandoned()
        if not self.ready:
            self.ready = True
            return None
        return self.answers.pop(0) if self.answers else report("someone")

    def end(self) -> None:
        """Once is enough."""
        assert not self.ended.is_set()
        self.ended.set()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Puppet]:
    """All judges of the test, in the order in which they were started."""
    Puppet.made, Puppet.answers = [], []
    monkeypatch.setattr(executors, "JudgeProcess", Puppet)
    return Puppet.made


def grade(pool: JudgePool, settings: Settings | None = None) -> Report | Failure:
    return pool.grade(Job(Submission("someone"), settings or Settings(ASSIGNMENT)), lambda: False)


def test_a_judge_is_kept_for_the_next_task_with_the_same_settings(made: list[Puppet]) -> None:
    pool = JudgePool()
    for seed in (0, 0, 1, 0, 1):
        grade(pool, Settings(ASSIGNMENT, seed=seed))
    assert [judge.settings.seed for judge in made] == [0, 1]
    pool.close()
    assert all(judge.ended.is_set() for judge in made)


@pytest.mark.parametrize(
    "answer",
    [Failure("it died"), report("someone", status="grader_error", score=None, bonus=None, reason="a mistake")],
    ids=["failure", "grader error"],
)
def test_a_judge_is_ended_after_a_failure(made: list[Puppet], answer: Report | Failure) -> None:
    pool = JudgePool()
    Puppet.answers = [answer]
    assert grade(pool) == answer
    assert made[0].ended.is_set()
    grade(pool)
    assert len(made) == 2
    assert not made[1].ended.is_set()


@pytest.mark.process
def test_an_idle_judge_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_process, "KEEP_S", 0.05)
    judge = JudgeProcess(Settings(ASSIGNMENT, device="cpu"))
    try:
        assert judge.answer(300, lambda: False) is None
        judge._process.join(300)
        assert not judge.alive
    finally:
        judge.end()


def test_a_judge_that_has_ended_while_idle_is_not_taken(made: list[Puppet]) -> None:
    pool = JudgePool()
    grade(pool)
    made[0].alive = False
    grade(pool)
    assert made[0].ended.is_set()
    assert len(made) == 2


class Slow(Puppet):
    """A judge that takes a moment to start, and notes how many do so at a time."""

    starting: ClassVar[list[Slow]]
    most: ClassVar[int]

    def answer(self, within_s: float, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """As the puppet."""
        if not self.ready:
            self.starting.append(self)
            Slow.most = max(Slow.most, len(self.starting))
            time.sleep(0.05)
            self.starting.remove(self)
        return super().answer(within_s, abandoned)


@pytest.mark.parametrize("room", [1, 2])
def test_no_more_judges_start_at_a_time_than_there_is_room_for(
    made: list[Puppet], monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(executors, "JudgeProcess", Slow)
    monkeypatch.setattr(executors, "STARTING", room)
    Slow.starting, Slow.most, pool, answers = [], 0, JudgePool(), list[Report | Failure]()
    threads = [threading.Thread(target=lambda: answers.append(grade(pool))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 6
    assert 1 <= Slow.most <= room
    assert pool.readied == len(made) <= 6


def test_a_job_that_waits_for_room_can_be_abandoned(made: list[Puppet], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "STARTING", 0)
    with pytest.raises(Abandoned):
        JudgePool().grade(Job(Submission("someone"), Settings(ASSIGNMENT)), lambda: True)
    assert made == []


def test_a_judge_that_cannot_be_started_leaves_room_for_the_next(
    made: list[Puppet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "STARTING", 1)
    pool = JudgePool()
    with monkeypatch.context() as patch:
        patch.setattr(executors, "JudgeProcess", lambda _: (_ for _ in ()).throw(OSError("no more processes")))
        with pytest.raises(OSError, match="no more processes"):
            grade(pool)
    grade(pool)
    assert len(made) == 1


def test_none_is_kept_by_a_pool_that_has_ended(made: list[Puppet]) -> None:
    """A task may finish just after that."""
    pool = JudgePool()
    pool.close()
    grade(pool)
    assert made[0].ended.is_set()


def test_a_judge_has_its_time_anew_for_each_property_that_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = ASSIGNMENT.rubric.properties
    ids = ["", *ASSIGNMENT.rubric.properties]
    at, clock = [0, 0], [0.0]

    def poll(seconds: float) -> bool:
        """Nothing has come after that time, which passes at once, and in which the judge may have begun a property."""
        clock.append(clock[-1] + seconds)
        for moment, prop in ((0.5, first), (1.2, second)):
            if clock[-2] < moment <= clock[-1]:
                at[:] = [ids.index(prop), at[1] + 1]
        return False

    monkeypatch.setattr(judge_process, "time", SimpleNamespace(monotonic=lambda: clock[-1]))
    judge = JudgeProcess.__new__(JudgeProcess)
    judge.settings, judge._at = Settings(ASSIGNMENT), at
    judge._pipe = SimpleNamespace(poll=poll)  # type: ignore[assignment] # of a judge that never answers
    assert not judge._wait(1.0, lambda: False)
    assert 2.2 <= clock[-1] < 2.5, "A second after the last property, and not after the question."
    assert judge._property() == second
