"""From outcomes to points: pure, whole properties only, and our own failures are never a zero."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import permutations

import pytest

from grader.core.results.language import ADVICE, CONSEQUENCE
from grader.core.results.outcome import CaseResult, Outcome, property_outcome, score
from grader.core.rubric import Rubric

PASSED, FAILED, CRASHED = Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED
OURS, ABSENT = Outcome.GRADER_ERROR, Outcome.NOT_ASSESSED


def cases(outcomes: Sequence[Outcome], property_id: str = "attention_heads") -> list[CaseResult]:
    """One case for each outcome."""
    return [CaseResult(property_id, f"case{number}", outcome) for number, outcome in enumerate(outcomes)]


def passing(rubric: Rubric) -> list[CaseResult]:
    """One passed case for every property."""
    return [CaseResult(identifier, "case", PASSED) for identifier in rubric.properties]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([PASSED, PASSED], PASSED),
        ([PASSED, FAILED, CRASHED], FAILED),
        ([PASSED, CRASHED, FAILED], CRASHED),
        ([FAILED, PASSED], FAILED),
        ([PASSED, ABSENT], PASSED),
        ([ABSENT, FAILED], FAILED),
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


def test_full_marks_for_passing_everything(rubric: Rubric) -> None:
    tasks = score(rubric, passing(rubric))
    assert [task.points for task in tasks] == [task.points for task in rubric.tasks]
    assert [prop.property.id for task in tasks for prop in task.properties] == list(rubric.properties)


@pytest.mark.parametrize("lost", ["attention_causal", "swiglu_weights"])
def test_a_lost_property_costs_its_own_points_only(rubric: Rubric, lost: str) -> None:
    tasks = score(rubric, [*passing(rubric), CaseResult(lost, "another", FAILED)])
    earned = sum(task.points for task in tasks)
    assert earned == sum(task.points for task in rubric.tasks) - rubric.properties[lost].points
    assert {prop.property.id for task in tasks for prop in task.properties if prop.points == 0} == {lost}


def test_a_property_without_a_case_is_our_failure(rubric: Rubric) -> None:
    first, *others = passing(rubric)
    outcomes = {prop.property.id: prop.outcome for task in score(rubric, others) for prop in task.properties}
    assert [name for name, outcome in outcomes.items() if outcome is OURS] == [first.property_id]


def test_scoring_is_pure(rubric: Rubric) -> None:
    results = [*passing(rubric), *cases([FAILED, PASSED])]
    before = copy.deepcopy(results)
    assert score(rubric, results) == score(rubric, results)
    assert results == before


def test_results_of_a_property_outside_the_rubric_are_no_silent_zero(rubric: Rubric) -> None:
    with pytest.raises(KeyError, match="swiglu_gate"):
        score(rubric.only("task1"), cases([PASSED], "swiglu_gate"))


def test_every_outcome_that_is_no_wrong_value_comes_with_advice() -> None:
    """In both languages, as all sentences: ``test_sentences.py``."""
    assert set(ADVICE.texts) - {CONSEQUENCE} == set(Outcome) - {PASSED, FAILED}
