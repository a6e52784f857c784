"""From cases to the outcome of a property, where our own failures are never a zero, and statistics counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.core.results.outcome import CaseResult, Outcome, by_property, property_outcome
from grader.core.results.report import Report
from grader.core.results.statistics import Bin, ClassStatistics, class_statistics, distribution, entry
from grader.core.results.views import ADVICE, CONSEQUENCE
from grader.core.rubric import Rubric
from grader.selftest.class_reports import graded, ungraded

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


def test_a_property_without_a_case_is_our_failure(rubric: Rubric) -> None:
    first, *others = [CaseResult(identifier, "case", PASSED) for identifier in rubric.properties]
    outcomes = {name: property_outcome(ended) for name, ended in by_property(rubric, others).items()}
    assert [name for name, outcome in outcomes.items() if outcome is OURS] == [first.property_id]


def test_results_of_a_property_outside_the_rubric_are_no_silent_zero(rubric: Rubric) -> None:
    with pytest.raises(KeyError, match="swiglu_gate"):
        by_property(rubric.only("task1"), cases([PASSED], "swiglu_gate"))


def test_every_outcome_that_is_no_wrong_value_comes_with_advice() -> None:
    """In both languages, as all sentences: ``test_conditions_told.py``."""
    assert set(ADVICE.texts) - {CONSEQUENCE} == set(Outcome) - {PASSED, FAILED}


def statistics_of(*reports: Report) -> ClassStatistics:
    return class_statistics([entry(report) for report in reports])


@pytest.mark.parametrize(
    ("most", "lows"),
    [(100, range(0, 100, 10)), (50, range(0, 50, 5)), (42, range(0, 42, 5)), (22, range(0, 22, 5)), (6, range(6))],
    ids=str,
)
def test_whoever_reaches_the_most_stands_apart(most: float, lows: list[float]) -> None:
    bins = distribution([most, 0, 0], most).bins
    assert [one.low for one in bins] == [*lows, most]
    assert bins[-1] == Bin(most, most, 1)
    assert bins[0].count == 2
    assert sum(one.count for one in bins) == 3


@pytest.mark.parametrize("values", [[0.0], [0.004, 0.3, 0.7], [3.5, 19.551], [120.0, 20.0]], ids=str)
def test_without_a_limit_every_value_is_inside_some_bin(values: list[float]) -> None:
    spread = distribution(values)
    assert sum(one.count for one in spread.bins) == len(values)
    assert all(one.low < one.high for one in spread.bins)
    assert spread.bins[-1].low <= max(values) < spread.bins[-1].high
    assert len(spread.bins) <= 11


def test_a_property_that_nobody_could_be_assessed_on_has_no_rate() -> None:
    (prop,) = [one for one in statistics_of(graded("ada", {"swiglu_gate": ABSENT})).properties if one.assessed == 0]
    assert (prop.id, prop.rate, prop.discrimination) == ("swiglu_gate", None, None)


def test_a_submission_holds_a_misconception_once() -> None:
    two = {"attention_rotary": "attention_unscaled", "attention_heads": "attention_unscaled"}
    one = {"attention_causal": "attention_sees_later_tokens"}
    reports = [
        graded("ada", dict.fromkeys(two, FAILED), two),
        graded("bo", dict.fromkeys([*two, *one], FAILED), two | one),
        graded("chen", {"attention_causal": FAILED}),
    ]
    found = [(one.id, one.properties, one.submissions) for one in statistics_of(*reports).misconceptions]
    assert found == [
        ("attention_unscaled", ("attention_heads", "attention_rotary"), 2),
        ("attention_sees_later_tokens", ("attention_causal",), 1),
    ]


def test_a_class_of_which_nothing_was_graded_has_no_distribution() -> None:
    statistics = statistics_of(ungraded("ada", "unreadable", "no zip"))
    assert (statistics.score, statistics.bonus, statistics.duration_s) == (None, None, None)
    assert (statistics.properties, statistics.misconceptions, statistics.outcomes) == ((), (), {})


def test_points_that_nobody_could_earn_have_no_distribution() -> None:
    statistics = statistics_of(graded("ada", score=0.0, max_score=0.0))
    assert statistics.score is None
    assert statistics.bonus is not None
