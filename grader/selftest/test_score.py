"""From cases to the outcome of a property: whole properties only, and our own failures are never a zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest

from grader.core.results.language import ADVICE, CONSEQUENCE, viewed
from grader.core.results.outcome import CaseResult, Outcome, by_property, property_outcome
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import graded

PASSED, FAILED, CRASHED = Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED
OURS, ABSENT = Outcome.GRADER_ERROR, Outcome.NOT_ASSESSED


def cases(outcomes: Sequence[Outcome], property_id: str = "attention_heads") -> list[CaseResult]:
    return [CaseResult(property_id, f"case{number}", outcome) for number, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([PASSED, PASSED], PASSED),
        ([PASSED, FAILED, CRASHED], FAILED),
        ([PASSED, CRASHED, FAILED], CRASHED),
        ([PASSED, ABSENT], PASSED),
        ([ABSENT, ABSENT], ABSENT),
        ([FAILED, CRASHED, OURS], OURS),
        ([ABSENT, OURS], OURS),
        ([], OURS),
    ],
    ids=lambda value: ("_".join(value) or "no_case") if isinstance(value, list) else f"is_{value}",
)
def test_the_first_case_that_did_not_pass_speaks_for_the_property(outcomes: list[Outcome], expected: Outcome) -> None:
    assert property_outcome(cases(outcomes)) is expected


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome not in (PASSED, ABSENT, OURS)], ids=str)
def test_one_case_that_did_not_pass_costs_the_whole_property(outcome: Outcome) -> None:
    for order in set(permutations([PASSED, ABSENT, outcome])):
        assert property_outcome(cases(order)) is outcome


def test_a_property_without_a_case_is_our_failure(rubric: Rubric) -> None:
    first, *others = [CaseResult(identifier, "case", PASSED) for identifier in rubric.properties]
    outcomes = {name: property_outcome(ended) for name, ended in by_property(rubric, others).items()}
    assert [name for name, outcome in outcomes.items() if outcome is OURS] == [first.property_id]


@pytest.mark.parametrize("lost", ASSIGNMENT.rubric.properties)
def test_a_lost_property_costs_its_own_points_only(lost: str) -> None:
    rubric, earned = ASSIGNMENT.rubric, scored({lost: FAILED})
    total = sum(task.score for task in earned.tasks)
    assert total == sum(task.points for task in rubric.tasks) - rubric.properties[lost].points
    assert {name for name, prop in earned.properties.items() if prop.points == 0} == {lost}


def scored(outcomes: Mapping[str, Outcome]) -> Report:
    """A report as a judge makes it: outcomes first, which then are given the rubric's points."""
    nothing = {"points": 0.0, "max_points": 0.0}
    bare = graded("someone", outcomes).with_properties(lambda prop: prop.model_copy(update=nothing))
    return viewed(bare.model_copy(update={"score": 0.0, "bonus": 0.0}), ASSIGNMENT, None, "en")


def test_results_of_a_property_outside_the_rubric_are_no_silent_zero(rubric: Rubric) -> None:
    with pytest.raises(KeyError, match="swiglu_gate"):
        by_property(rubric.only("task1"), cases([PASSED], "swiglu_gate"))


def test_every_outcome_that_is_no_wrong_value_comes_with_advice() -> None:
    """In both languages, as all sentences: ``test_sentences.py``."""
    assert set(ADVICE.texts) - {CONSEQUENCE} == set(Outcome) - {PASSED, FAILED}
