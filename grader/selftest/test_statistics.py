"""Statistics of a class, on classes small enough to count by hand."""

from __future__ import annotations

import math

import pytest

from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.results.statistics import Bin, ClassStatistics, class_statistics, distribution, entry
from grader.core.rubric import Rubric
from grader.selftest.class_reports import ENVIRONMENTS, PROVENANCE, graded, ungraded

FAILED, CRASHED, NOT_ASSESSED = Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_ASSESSED


def statistics_of(*reports: Report) -> ClassStatistics:
    """Statistics of these reports."""
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


def test_the_middle_and_the_ends_of_a_distribution() -> None:
    spread = distribution([0, 10, 20, 90], 100)
    assert (spread.mean, spread.median, spread.lowest, spread.highest) == (30, 15, 0, 90)


def test_pass_rates_count_graded_work_that_could_be_assessed(rubric: Rubric) -> None:
    """Of five, one is unreadable and one had no GPU for it; of three, two pass."""
    reports = [
        graded("ada"),
        graded("bo"),
        graded("chen", {"attention_causal": CRASHED}),
        graded("dana", {"attention_causal": NOT_ASSESSED}),
        ungraded("emeka", "unreadable", "no zip"),
    ]
    statistics = statistics_of(*reports)
    prop = next(one for one in statistics.properties if one.id == "attention_causal")
    assert (prop.passed, prop.assessed, prop.rate) == (2, 3, 2 / 3)
    assert prop.max_points == rubric.properties["attention_causal"].points
    assert statistics.statuses == {"graded": 4, "unreadable": 1}


def test_a_property_that_nobody_could_be_assessed_on_has_no_rate() -> None:
    (prop,) = [
        one for one in statistics_of(graded("ada", {"swiglu_gate": NOT_ASSESSED})).properties if one.assessed == 0
    ]
    assert (prop.id, prop.rate, prop.discrimination) == ("swiglu_gate", None, None)


def test_discrimination_is_a_correlation_with_all_other_points() -> None:
    """By hand: passing is 1, 1, 0; of the other points 0, 30 and 60 are lost. The deviations give 3/sqrt(12)."""
    reports = [
        graded("ada"),
        graded("bo", {"attention_causal": FAILED}),
        graded("chen", {"swiglu_gate": FAILED, "attention_causal": FAILED, "attention_rotary": FAILED}),
    ]
    by_id = {prop.id: prop for prop in statistics_of(*reports).properties}
    assert by_id["swiglu_gate"].discrimination == pytest.approx(3 / math.sqrt(12))
    assert by_id["attention_heads"].discrimination is None  # all the same
    assert statistics_of(reports[0]).properties[0].discrimination is None  # one is too few


def test_a_property_whose_passing_goes_with_fewer_points_discriminates_negatively(rubric: Rubric) -> None:
    """With two students the correlation is -1: whoever passes it has lost everything else."""
    first, *others = rubric.properties
    reports = [graded("ada", {first: FAILED}), graded("bo", dict.fromkeys(others, FAILED))]
    by_id = {prop.id: prop for prop in statistics_of(*reports).properties}
    assert by_id[first].discrimination == pytest.approx(-1)


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


def test_outcomes_count_properties_and_submissions(rubric: Rubric) -> None:
    lost = {"attention_causal": CRASHED, "attention_heads": CRASHED}
    reports = [graded("ada", lost), graded("bo", {"attention_causal": FAILED})]
    found = {one.outcome: (one.properties, one.submissions) for one in statistics_of(*reports).outcomes}
    every = 2 * len(rubric.properties)
    assert found == {Outcome.PASSED: (every - 3, 2), FAILED: (1, 1), CRASHED: (2, 1)}


def test_time_is_of_graded_work_and_environments_of_all() -> None:
    slow = PROVENANCE.model_copy(update={"duration_s": 12.5})
    reports = [
        graded("ada", provenance=slow),
        graded("bo", provenance=slow, environment=ENVIRONMENTS[1]),
        ungraded("c", "grader_error", "no"),
    ]
    statistics = statistics_of(*reports)
    assert statistics.duration_s is not None
    assert (statistics.duration_s.lowest, statistics.duration_s.mean) == (12.5, 12.5)
    assert statistics.environments == {("cpu", "namespaces+landlock+seccomp"): 2, ("cpu, cuda:0", "seccomp"): 1}


def test_a_class_of_which_nothing_was_graded_has_no_distribution() -> None:
    statistics = statistics_of(ungraded("ada", "unreadable", "no zip"))
    assert (statistics.score, statistics.bonus, statistics.duration_s) == (None, None, None)
    assert (statistics.properties, statistics.misconceptions, statistics.outcomes) == ((), (), ())


def test_points_that_nobody_could_earn_have_no_distribution() -> None:
    """As with ``--only task2``."""
    statistics = statistics_of(graded("ada", score=0.0, max_score=0.0))
    assert statistics.score is None
    assert statistics.bonus is not None
