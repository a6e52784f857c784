"""What every executor owes the schedule, shown on the local one; and ``--executor``: one line where there is none."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.run.executors import ATTEMPTS, Executor, Job, JudgePool, LocalExecutor, open_executor
from grader.core.run.judge_process import Abandoned, Failure
from grader.core.run.schedule import GradingFailed, grade_all
from grader.core.settings import CannotGrade, Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import report
from grader.selftest.submissions import edited, write_folder
from grader.selftest.term import refused

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


def test_a_thread_that_ends_before_its_job_begins_keeps_nobody_waiting(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> bool:
        raise MemoryError("no room")

    monkeypatch.setattr(Future, "set_running_or_notify_cancel", fails)
    with pytest.raises(MemoryError, match="no room"):
        executor.submit(Job(Submission("ada"), Settings(ASSIGNMENT))).result(timeout=60)


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


CHOICES = "local, tcp://HOST:PORT, tls://HOST:PORT or slurm"


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ("cloud", f"--executor cloud: not an executor. Choose {CHOICES}."),
        ("http://127.0.0.1:8786", f"--executor http://127.0.0.1:8786: not an executor. Choose {CHOICES}."),
        ("tcp://127.0.0.1", "--executor tcp://127.0.0.1: no host and port. Use the form tls://"),
        ("tcp://:8786", "--executor tcp://:8786: no host and port."),
        ("tls://here:port", "--executor tls://here:port: no host and port."),
        ("tls://127.0.0.1:8786", "--executor tls://127.0.0.1:8786: no certificate is configured."),
    ],
)
def test_what_cannot_be_an_executor_is_named(choice: str, problem: str) -> None:
    if choice.startswith("t"):
        pytest.importorskip("distributed")
    with pytest.raises(CannotGrade, match=re.escape(problem)):
        open_executor(choice, 1)


def test_the_default_is_this_machine() -> None:
    with open_executor("local", 3) as executor:
        assert isinstance(executor, LocalExecutor)
        assert executor.slots == 3 + 1


@pytest.mark.process
def test_the_command_ends_with_one_line_if_no_scheduler_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from grader.extras.cluster import connect

    monkeypatch.setattr(connect, "CONNECT_S", 0.5)
    ada, address = write_folder(tmp_path / "ada", edited()), f"tcp://127.0.0.1:{unused_port()}"
    line = refused("grade", ada, "--out", tmp_path / "out", "--executor", address)
    assert line.startswith(f"grader: --executor {address}: no scheduler answered within 0.5 s. Start it with")


@pytest.mark.parametrize(("choice", "module"), [("tcp://127.0.0.1:1", "distributed"), ("slurm", "dask_jobqueue")])
def test_a_missing_extra_comes_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, choice: str, module: str
) -> None:
    for name in ("executor", "connect"):
        monkeypatch.delitem(sys.modules, f"grader.extras.cluster.{name}", raising=False)
    for name in (module, f"{module}.{choice}"):  # an earlier test may have imported it
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CannotGrade, match=rf'{module} is not installed\. .* pip install -e "\.\[grader,cluster\]"'):
        open_executor(choice, 1)


def test_plain_tcp_to_another_machine_comes_with_a_warning() -> None:
    pytest.importorskip("distributed")
    from grader.extras.cluster.connect import warning

    assert warning("tcp://127.0.0.1:1", "127.0.0.1") == warning("tcp://localhost:1", "localhost") == ""
    assert warning("tls://10.0.0.7:8786", "10.0.0.7") == ""
    for host in ("10.0.0.7", "grading.example.org"):
        assert "anyone who reaches the scheduler or a worker can run code there" in warning(f"tcp://{host}:8786", host)
