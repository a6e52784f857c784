"""Verdicts on a core that has twice as much to do as it can: the same as on an idle machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.results.outcome import Outcome
from grader.core.sandbox.channel import WALL_FACTOR
from grader.core.sandbox.handle import WorkerFailed
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.settings import Settings
from grader.lab.processes import descendants
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import edited

pytestmark = [
    pytest.mark.process,
    pytest.mark.covered,
    pytest.mark.usefixtures("busy"),
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the wall clock has to do"),
]

NORM = "src/modeling/norm.py"
# So little that, by the wall clock, a busy machine alone would use it up: a fifth of it is for each name.
TIGHT = Limits(request_s=0.4, retry_s=0.1, submission_s=5)
HANGS = ("        compute_dtype =", "        while True: pass\n        compute_dtype =")
SLEEPS = ("        compute_dtype =", "        __import__('time').sleep(3600)\n        compute_dtype =")
WAITS = {
    "src/functional.py": "import time\ndef sleep():\n    time.sleep(3600)\ndef spin():\n    while True: pass\n"
    "def work():\n    end = time.process_time() + 0.6\n    while time.process_time() < end: pass\n    return 1\n"
}


@pytest.fixture(scope="module")
def judge(judges: Judges) -> Judge:
    return judges(Settings(ASSIGNMENT, device="cpu", limits=TIGHT))


@pytest.fixture(scope="module")
def busy(judge: Judge, zygote: Zygote) -> Iterator[None]:
    """All that is tested, which has started before, shares one core with a process that computes.

    On one core, so that tests that run beside these keep the others.
    """
    del judge
    zygote.start({}).close()
    before = os.sched_getaffinity(0)
    _keep_to({max(before)})
    program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"
    with subprocess.Popen([sys.executable, "-c", program]) as load:
        yield
        load.kill()
    _keep_to(before)


def _keep_to(cores: set[int]) -> None:
    """Let this process and all that it has started run on these cores; what they start inherits it."""
    for pid in descendants(os.getpid()):
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(ProcessLookupError):  # has ended meanwhile
                os.sched_setaffinity(int(thread.name), cores)


def test_an_honest_submission_keeps_every_point_on_a_busy_machine(judge: Judge) -> None:
    report = judge.grade(Submission("ada", ASSIGNMENT.solution()))
    assert (report.score, report.bonus) == (ASSIGNMENT.rubric.max_score, ASSIGNMENT.rubric.max_bonus)


@pytest.mark.parametrize("edit", [HANGS, SLEEPS], ids=["computes_for_ever", "sleeps_for_ever"])
def test_what_never_ends_is_timed_out_and_costs_its_own_task_only(judge: Judge, edit: tuple[str, str]) -> None:
    report = judge.grade(Submission("eve", edited((NORM, *edit), of=ASSIGNMENT)))
    assert Outcome.TIMED_OUT in {prop.outcome for prop in report.tasks[0].properties}
    assert [task.score for task in report.tasks[1:]] == [task.max_score for task in report.tasks[1:]]


@pytest.mark.parametrize(("name", "answers"), [("work", True), ("spin", False), ("sleep", False)])
def test_what_counts_is_the_time_of_the_worker(zygote: Zygote, name: str, answers: bool) -> None:
    """0.6 s of computing within an allowance of 1 s, while the core has another to serve."""
    load = ("load", {"module": "src.functional", "name": name})
    call = ("call", {"target": name, "arguments": []})
    with contextlib.closing(zygote.start(WAITS)) as worker:
        worker.request([load], 10)
        if answers:
            assert worker.request([call], 1.0) == {"value": 1}
            # Less than 0.6 where worker and judge waited at once: both waits are taken off.
            assert 0.25 < worker.spent_s < 1.0
        else:
            with pytest.raises(WorkerFailed, match="no answer in time") as failure:
                worker.request([call], 1.0)
            assert failure.value.kind == "timed_out"
            assert 0.1 < worker.spent_s < WALL_FACTOR  # less than 1 s where the backstop comes first
