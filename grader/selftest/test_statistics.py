"""Statistics of a class, on classes small enough to count by hand."""

from __future__ import annotations

import pytest

from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.results.statistics import Bin, ClassStatistics, class_statistics, distribution, entry
from grader.selftest.class_reports import graded, ungraded

FAILED, NOT_ASSESSED = Outcome.FAILED, Outcome.NOT_ASSESSED


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


def test_a_value_on_an_edge_belongs_to_the_bin_that_begins_there() -> None:
    bins = {one.low: one.count for one in distribution([9.99, 10, 19.99, 20], 100).bins if one.count}
    assert bins == {0: 1, 10: 2, 20: 1}


@pytest.mark.parametrize("values", [[0.0], [0.004, 0.3, 0.7], [3.5, 19.551], [120.0, 20.0]], ids=str)
def test_without_a_limit_every_value_is_inside_some_bin(values: list[float]) -> None:
    spread = distribution(values)
    assert sum(one.count for one in spread.bins) == len(values)
    assert all(one.low < one.high for one in spread.bins)
    assert spread.bins[-1].low <= max(values) < spread.bins[-1].high
    assert len(spread.bins) <= 11


def test_a_property_that_nobody_could_be_assessed_on_has_no_rate() -> None:
    (prop,) = [
        one for one in statistics_of(graded("ada", {"swiglu_gate": NOT_ASSESSED})).properties if one.assessed == 0
    ]
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
