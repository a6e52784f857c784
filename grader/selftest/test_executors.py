"""What every executor owes the schedule, shown on the local one, with tasks that need no judge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.run.executors import ATTEMPTS, Executor, Job, JudgePool, LocalExecutor
from grader.core.run.judge_process import Abandoned, Failure
from grader.core.run.schedule import GradingFailed, grade_all
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import report

Answer = Report | Failure


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    """Two threads."""
    with LocalExecutor(2) as pool:
        yield pool


@pytest.fixture
def judged_by(monkeypatch: pytest.MonkeyPatch, executor: Executor) -> Callable[..., Iterator[Report]]:
    """``judged_by(job, ids)``: reports of those submissions from a job of the test's own."""

    def run(job: Callable[[Job], Answer], ids: Iterator[str]) -> Iterator[Report]:
        monkeypatch.setattr(JudgePool, "grade", lambda _, one, __: job(one))
        return grade_all(map(Submission, ids), Settings(ASSIGNMENT), executor)

    return run


def passed(job: Job) -> Report:
    return report(job.submission.id)


def given_up(job: Job) -> Report:
    """What a judge says when it is only to report a failure."""
    return passed(job).model_copy(update={"status": "grader_error", "reason": job.failure, "score": None})


def test_few_submissions_are_held_at_a_time(judged_by: Callable[..., Iterator[Report]]) -> None:
    """However many there are, the next is taken when a slot is free."""
    taken: list[str] = []

    def ids() -> Iterator[str]:
        for number in range(500):
            taken.append(f"s{number}")
            yield taken[-1]

    held = [len(taken) - number for number, _ in enumerate(judged_by(passed, ids()))]
    assert len(held) == len(taken) == 500
    assert max(held) <= 2 * 3  # reports that are there and not yet taken, and their successors


def test_the_end_of_an_executor_abandons_what_runs_and_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Semaphore(0), threading.Semaphore(0)
    jobs: list[str] = []

    def grade(_: JudgePool, job: Job, abandoned: Callable[[], bool]) -> Report:
        jobs.append(job.submission.id)
        if job.submission.id == "first":
            begun.acquire()
            return passed(job)
        begun.release()
        while not abandoned():
            time.sleep(0.01)
        ended.release()
        raise Abandoned

    monkeypatch.setattr(JudgePool, "grade", grade)
    with LocalExecutor(2) as executor:
        reports = grade_all(map(Submission, ["first", "second", "third", "fourth"]), Settings(ASSIGNMENT), executor)
        assert next(reports).submission.id == "first"
        reports.close()
    assert ended.acquire(timeout=60)
    assert "fourth" not in jobs


@pytest.mark.parametrize("bad", [Failure("it died"), ZeroDivisionError("it died")], ids=["answered", "raised"])
def test_a_failure_is_tried_again_and_then_reported(
    judged_by: Callable[..., Iterator[Report]], bad: Failure | Exception
) -> None:
    """Also that of a job that nobody foresaw, as long as others succeed between its attempts."""
    tries: list[Job] = []

    def job(job: Job) -> Answer:
        if job.submission.id != "bad":
            return passed(job)
        tries.append(job)
        if job.given_up:
            return given_up(job)
        if isinstance(bad, Failure):
            return bad
        raise bad

    ids = iter(["bad", "good"])
    if isinstance(bad, Failure):
        *_, last = judged_by(job, ids)
        assert (last.status, last.reason) == ("grader_error", "it died")
        assert len(tries) == ATTEMPTS + 1
        assert tries[-1].submission.files == {}
    else:
        with pytest.raises(GradingFailed, match=r"3 judges in a row failed .*: ZeroDivisionError: it died"):
            list(judged_by(job, ids))


def test_a_submission_that_takes_workers_along_is_charged_with_it(
    judged_by: Callable[..., Iterator[Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if there is no other between its attempts."""
    monkeypatch.setattr(LocalExecutor, "killers", (ConnectionError,))

    def job(job: Job) -> Answer:
        if job.given_up:
            return given_up(job)
        raise ConnectionError("four workers have died")

    (only,) = judged_by(job, iter(["poison"]))
    assert (only.status, only.reason) == ("grader_error", "ConnectionError: four workers have died")


def test_a_submission_is_not_charged_with_what_it_had_no_part_in(judged_by: Callable[..., Iterator[Report]]) -> None:
    """Not even if that happens more often than it may fail, with others graded between."""
    tries: list[str] = []

    def job(job: Job) -> Answer:
        tries.append(job.submission.id)
        unlucky = job.submission.id == "unlucky" and tries.count("unlucky") <= ATTEMPTS - 1
        return Failure("it did not start", begun=False) if unlucky else passed(job)

    assert sorted(report.status for report in judged_by(job, iter(["unlucky", "a", "b"]))) == ["graded"] * 3
    assert tries.count("unlucky") == ATTEMPTS


def test_an_executor_that_has_gone_says_what_to_do(
    judged_by: Callable[..., Iterator[Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cancels whatever is submitted, since it can run nothing any more."""
    never: Future[Answer] = Future()
    never.cancel()
    never.set_running_or_notify_cancel()
    monkeypatch.setattr(LocalExecutor, "gone", "the scheduler has gone")
    monkeypatch.setattr(LocalExecutor, "submit", lambda *_: never)
    with pytest.raises(GradingFailed, match="the scheduler has gone"):
        list(judged_by(passed, iter("abc")))
