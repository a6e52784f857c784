"""Whole submissions through locked workers, and of grading on a GPU what can be tried without one; all where one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from grader.core.assignment import Assignment
from grader.core.intake.submission import Submission
from grader.core.judge import judge
from grader.core.judge.judge import Judge
from grader.core.judge.student import Student
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.sandbox.launch import Zygote, on_gpus
from grader.core.sandbox.limits import Limits
from grader.core.settings import CannotGrade, Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import SEES_LATER_TOKENS, SWIGLU, edited, submission

pytestmark = pytest.mark.process

LOOK = """
import os, resource, threading

def visible(): raise ValueError(os.environ.get("CUDA_VISIBLE_DEVICES"))
def thread(): threading.Thread(target=list).start()
def reserve(): __import__("mmap").mmap(-1, 64 << 30, flags=0x22, prot=0)  # private, anonymous
def fill(): bytearray(6 << 30)
"""


@pytest.fixture(scope="module")
def gpu_zygote() -> Iterator[Zygote]:
    """A fork server whose workers may use GPUs, and have the variables of this environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "7")
        zygote = Zygote(Limits(), devices=["cuda:0"])
    yield zygote
    zygote.close()


@pytest.fixture
def on_a_gpu(gpu_zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges find another device than the CPU, and share that fork server."""

    def shared(_: Limits, devices: Sequence[str], *__: object) -> Zygote:
        assert on_gpus(devices)
        return gpu_zygote

    monkeypatch.setattr(judge, "devices", lambda _: ("cpu", "cpu:0"))
    monkeypatch.setattr(judge, "Zygote", shared)
    monkeypatch.setattr(gpu_zygote, "close", lambda: None)


def answer(zygote: Zygote, function: str) -> str:
    """What became of a function of ``LOOK`` in a worker."""
    worker = zygote.start({"src/work.py": LOOK})
    load = ("load", {"module": "src.work", "name": function})
    reply = worker.request([load, ("call", {"target": function, "arguments": []})], 10.0)
    worker.close()
    return str(reply["error"].get("message", reply["error"]["kind"]) if "error" in reply else "done")


def test_workers_see_the_gpus_that_the_assistant_chose_and_none_where_none_is_graded(
    gpu_zygote: Zygote, zygote: Zygote
) -> None:
    assert answer(gpu_zygote, "visible") == "7"
    assert answer(zygote, "visible") == ""


@pytest.mark.parametrize("function", ["thread", "reserve"])
def test_a_driver_has_room_for_threads_and_reserved_addresses(
    gpu_zygote: Zygote, zygote: Zygote, function: str
) -> None:
    assert answer(gpu_zygote, function) == "done"
    assert answer(zygote, function) != "done"


def test_memory_is_limited_beside_a_driver_too(gpu_zygote: Zygote) -> None:
    assert answer(gpu_zygote, "fill") == "memory_exceeded"


def test_the_fork_server_leaves_the_driver_to_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first backward would count devices, in the fork server, for all workers."""
    from grader.core.sandbox import worker, zygote

    computed: list[str] = []
    monkeypatch.setattr(worker, "exercise", computed.append)
    zygote._warm_up(gpus=True, simulate=False)
    assert not computed
    zygote._warm_up(gpus=False, simulate=True)
    assert computed == ["cpu", "gpu:0"]


@pytest.mark.usefixtures("on_a_gpu")
def test_a_class_on_a_gpu_starts_with_the_reference_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that does not start there must stop the run, rather than cost the students."""
    with_gpus = Zygote.start

    def broken(self: Zygote, files: dict[str, str]) -> object:
        return with_gpus(self, files | {SWIGLU: "raise OSError('no driver')"})

    monkeypatch.setattr(Zygote, "start", broken)
    with pytest.raises(CannotGrade, match=r"the reference fails a hidden test, .* OSError: no driver"):
        Judge(Settings(ASSIGNMENT, device="auto", only="task2"))


@pytest.mark.usefixtures("on_a_gpu")
def test_workers_for_gpus_grade_as_all_others() -> None:
    grader = Judge(Settings(ASSIGNMENT, device="auto", only="task1"))
    report = grader.grade(Submission("reference", ASSIGNMENT.solution()))
    grader.close()
    assert report.score == report.max_score
    assert str(grader.isolation) == report.environment.isolation == "process"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_the_reference_keeps_all_points_on_a_gpu() -> None:
    grader = Judge(Settings(ASSIGNMENT, device="cuda"))
    report = grader.grade(Submission("reference", ASSIGNMENT.solution()))
    grader.close()
    assert (report.score, report.bonus) == (report.max_score, report.max_bonus)
    assert report.environment.devices == ["cuda:0"]


GATE = "        gate = nn.functional.silu"
HANGS = (SWIGLU, GATE, f"        __import__('time').sleep(60)\n{GATE}")


def lost(report: Report) -> dict[str, Outcome]:
    """What became of the properties that did not earn their points."""
    return {name: prop.outcome for name, prop in report.properties.items() if prop.points < prop.max_points}


def test_a_hang_costs_its_properties_only(judges: Judges, assignment: Assignment) -> None:
    limits = Limits(request_s=1.5, retry_s=0.5, submission_s=60)
    hasty = judges(Settings(assignment, device="cpu", only="task2", limits=limits))
    report = hasty.grade(submission(edited(HANGS)))
    assert lost(report) == {"swiglu_gate": Outcome.TIMED_OUT}
    assert report.properties["swiglu_gate"].hint.startswith("Your code exceeded the time limit")


def test_a_rubric_may_not_ask_for_a_name_of_the_graders_own(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Student, "SwiGLU", None, raising=False)
    with pytest.raises(CannotGrade, match=r"^the rubric asks for 'SwiGLU', a name of the grader's in hidden tests"):
        Judge(Settings(assignment, device="cpu"))


def test_a_reference_that_fails_stops_everything(assignment: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = edited(SEES_LATER_TOKENS)
    monkeypatch.setattr(Assignment, "solution", lambda _: broken)
    with pytest.raises(CannotGrade, match=r"^the reference fails a hidden test.* attention_causal, "):
        Judge(Settings(assignment, device="cpu", only="task1"))
