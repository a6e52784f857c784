"""What a submission does to its judge costs that submission, and is told apart from a machine that is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.intake.submission import Submission
from grader.core.judge.faults import Crashed, InvalidReply, WrongAnswer, fault_from_reply
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.run import executors
from grader.core.run.executors import Job, LocalExecutor
from grader.core.run.judge_process import Failure
from grader.core.run.schedule import grade_all
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT as SMALL
from grader.selftest import faulty, long_only
from grader.selftest.faulty import Trap


class Unspeakable:
    """A value that must not be turned into text, in place of a tensor that takes minutes for it."""

    def __str__(self) -> str:
        raise AssertionError("turned into text")

    __repr__ = __str__


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "crashed", "message": Unspeakable()},
        {"kind": "crashed", "message": [Unspeakable()]},
        {"kind": Unspeakable(), "message": "x"},
        {"kind": "not_implemented", "message": {"a": Unspeakable()}},
    ],
    ids=["tensor", "in_a_list", "kind", "in_a_dictionary"],
)
def test_an_error_whose_fields_are_no_text_is_an_invalid_reply(fields: Mapping[str, object]) -> None:
    fault = fault_from_reply(fields, {}, 100)
    assert isinstance(fault, InvalidReply)
    assert str(fault) == "a malformed error report"


def test_classes_and_frames_that_are_no_text_are_left_out() -> None:
    odd: list[object] = [Unspeakable()] * 100
    frames = [[Unspeakable()] * 3, ["src/a.py", 10**4000, "f"], ["src/a.py", 1, "f"]]
    fault = fault_from_reply(
        {"kind": "crashed", "message": "x", "types": odd, "frames": frames}, {"src/a.py": "y\n"}, 1
    )
    assert isinstance(fault, Crashed)
    assert str(fault) == "x\n  src/a.py:1 in f: y"
    assert len(fault.types) <= 8


# ── Judges that die ─────────────────────────────────────────────────────────────────────────────────────────────────


def graded(fault: Callable[[], object], log: Path) -> tuple[dict[str, Report], Trap]:
    """A class of two: one over whose replies judges come to harm, and one that is right."""
    as_if_new = Settings(SMALL, device="cpu", remember=False)  # what has passed for a neighbour is looked at again
    trap = Trap("mallory", SMALL.solution(), fault=fault, log=log, times=99)
    neighbour = Submission("neighbour", SMALL.solution())
    with LocalExecutor(1) as executor, pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "MARGIN_S", 30)
        patch.setattr(executors, "LOAD", 1)
        reports = list(grade_all([trap, neighbour], as_if_new, executor))
    return {report.submission.id: report for report in reports}, trap


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        (faulty.find_no_memory_for_the_replies, 1),  # the judge survives
        (faulty.die_over_the_replies, 3),  # the first may have been the machine; the second says that it was not
        pytest.param(faulty.spin_over_the_replies, 2, marks=long_only),  # no machine makes a judge compute
    ],
    ids=["finds_no_memory", "dies", "computes_for_ever"],
)
def test_who_brings_judges_down_gets_invalid_replies_in_that_task_only(
    fault: Callable[[], object], attempts: int, tmp_path: Path
) -> None:
    reports, trap = graded(fault, tmp_path / "log")
    mallory, neighbour = reports["mallory"], reports["neighbour"]
    assert (mallory.status, trap.attempts) == ("graded", attempts)
    attention, *others = mallory.tasks
    assert Outcome.INVALID_REPLY in {prop.outcome for prop in attention.properties}
    assert {prop.outcome for prop in attention.properties} <= {Outcome.INVALID_REPLY, Outcome.PASSED}
    assert [task.score for task in others] == [task.max_score for task in others]
    if attempts == 1:  # the same judge, whose oracle has been broken for good
        return
    assert (neighbour.score, neighbour.bonus) == (SMALL.rubric.max_score, SMALL.rubric.max_bonus)


@pytest.mark.parametrize(
    ("failures", "condemned", "number"),
    [
        ([Failure("died", at="norm_eps_inside_sqrt", of_its_limit=True)], True, 1),
        ([Failure("died", at="norm_groups")], False, 2),
        ([Failure("died", at="norm_groups"), Failure("stalled", at="norm_groups")], True, 2),
        ([Failure("died", at="norm_groups"), Failure("died", at="vocab_lookup")], False, 3),
        ([Failure("died")] * 2, False, 3),
        ([Failure("did not start", begun=False)] * 2, False, 1),
    ],
    ids=["its_own_limit", "once", "twice_there", "twice_elsewhere", "before_any_code_ran", "no_judge"],
)
def test_a_broken_machine_condemns_nobody(failures: list[Failure], condemned: bool, number: int) -> None:
    job = Job(Submission("someone"), Settings(ASSIGNMENT))
    for failure in failures:
        job = job.after(failure)
    task: Any = ASSIGNMENT.rubric.task_of("norm_groups")
    assert job.condemned == (frozenset(prop.id for prop in task.properties) if condemned else frozenset())
    assert job.number == number


@pytest.mark.parametrize("value", [0.12345678, -1.5e-7, float("nan"), -3141592653589793, "0.12345678"], ids=str)
def test_what_a_worker_tells_gives_no_number_of_an_input(value: float | str) -> None:
    told = [
        {
            "key": "the parameter has {n} elements",
            "fields": {"n": value, "more": [{"key": "{x}", "fields": {"x": value}}]},
        }
    ]
    fault = fault_from_reply({"kind": "unfit", "told": told}, {}, 1)
    assert isinstance(fault, WrongAnswer)
    assert str(fault) == "the parameter has … elements"
    assert [*fault.message.all_parts()][1].fields == {"x": "…"}


@pytest.mark.parametrize(
    "told", [[{"key": "x" * 200, "fields": {}}] * 100, 7, None, [{"key": 1, "fields": {}}]], ids=type
)
def test_what_no_worker_tells_is_malformed(told: object) -> None:
    assert isinstance(fault_from_reply({"kind": "unfit", "told": told}, {}, 1), InvalidReply)


def test_sizes_that_a_worker_tells_stay_numbers() -> None:
    told = [{"key": "the parameter has {n} elements", "fields": {"n": 24}}]
    assert fault_from_reply({"kind": "unfit", "told": told}, {}, 1).message.parts[0].fields == {"n": 24}
