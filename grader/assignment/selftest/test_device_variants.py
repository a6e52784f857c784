"""Cases on a second device, without the rest of the hidden tests, on right and wrong ways to handle devices.

Half of the wrong ways and a third of the right ones; ``GRADER_LONG=1`` takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.judge.devices import why_not_simulated
from grader.core.judge.hidden_tests import HiddenTests
from grader.core.judge.student import Student
from grader.core.results.language import in_words
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.sandbox.handle import InProcessWorker
from grader.core.sandbox.limits import Limits
from grader.selftest import LONG, some
from grader.shared import second_device
from grader.specimens.variants import Variant

pytestmark = pytest.mark.slow

ALL = all_variants()
ABOUT_DEVICES = [variant for variant in ALL if ".devices." in variant.name]
WRONG = [variant for variant in ABOUT_DEVICES if not variant.valid]
# All that are about devices; of the others, which test_variants.py judges on the CPU, a few.
VALID = [
    *(variant for variant in ABOUT_DEVICES if variant.valid),
    *[variant for variant in ALL if variant.valid and variant not in ABOUT_DEVICES][:: 1 if LONG else 5],
]
TASK = {name: task.id for task in ASSIGNMENT.rubric.tasks for name in task.names}

Judge = Callable[[Mapping[str, str], str], list[CaseResult]]


@pytest.fixture(scope="module")
def judge_there() -> Judge:
    """``judge_there(files, task)``: the cases on a second device alone."""
    assert why_not_simulated() == ""
    other = (second_device.DEVICE,)  # also where there is a GPU, on which every test runs
    tests = cache(lambda task: HiddenTests(ASSIGNMENT, other, 0, ASSIGNMENT.rubric.only(task).properties))

    def run(files: Mapping[str, str], task: str) -> list[CaseResult]:
        results = tests(task).run(Student(files, InProcessWorker, ASSIGNMENT.rubric, Limits()))
        return [result for result in results if result.outcome is not Outcome.NOT_ASSESSED]

    return run


def lost(results: list[CaseResult]) -> set[str]:
    """The properties of cases that did not pass; a failure of ours must not pass as one of theirs."""
    assert [result for result in results if result.outcome is Outcome.GRADER_ERROR] == []
    return {result.property_id for result in results if result.outcome is not Outcome.PASSED}


def test_there_are_as_many_variants_as_the_ways_to_go_wrong_deserve() -> None:
    assert len(WRONG) >= 40
    assert len(ABOUT_DEVICES) - len(WRONG) >= 40


@pytest.mark.parametrize("variant", some(WRONG, 2), ids=lambda variant: variant.name)
def test_a_mistake_with_devices_shows_on_a_second_one(judge_there: Judge, variant: Variant) -> None:
    results = judge_there(variant.files, TASK[variant.piece])
    judged = {result.property_id for result in results}
    assert variant.breaks & judged <= lost(results) <= variant.breaks | variant.also
    advised = [result.message for result in results if result.message.fields("\nOn {here}: {advice}")]
    there = {result.outcome for result in results if "simulated" in result.id}
    assert advised or there == {Outcome.CRASHED}, "what crashes on the CPU, too, is no matter of devices"
    assert [
        told for told in advised if in_words(told, ASSIGNMENT, "zh").splitlines()[-1] == told.splitlines()[-1]
    ] == []


@pytest.mark.parametrize("variant", some(VALID, 3), ids=lambda variant: variant.name)
def test_no_valid_way_is_hurt_on_a_second_device(judge_there: Judge, variant: Variant) -> None:
    assert lost(judge_there(variant.files, TASK[variant.piece])) == set()


def test_the_reference_answers_every_case_there(judge_there: Judge) -> None:
    for task in ASSIGNMENT.rubric.tasks:
        results = judge_there(ASSIGNMENT.solution(), task.id)
        assert any("simulated" in result.id or "cuda" in result.id for result in results)
        assert lost(results) == set()
