"""The sample class of A2 through the whole grader: everybody gets what the assignment says, and reads why."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.students import STUDENTS
from grader.core.intake.discover import discover
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.specimens.students import write_class

ROPE = "src/modeling/pos_emb.py"

# id: score, bonus, misconceptions that the report must name. lena hangs, and is graded below with short limits.
EXPECTED: dict[str, tuple[float | None, float | None, set[str]]] = {
    "ada": (100, 50, set()),
    "bo": (0, 0, set()),
    "chen": (100, 0, set()),
    "dana": (92, 50, {"norm_over_whole_hidden"}),
    "emeka": (95, 50, {"norm_eps_outside"}),
    "farid": (95, 50, {"norm_squares_before_upcast"}),
    "grace": (88, 50, {"shard_clamped_ids", "shard_seed_without_rank"}),
    "hiro": (100, 45, {"rotary_adjacent_pairs"}),
    "ines": (100, 34, {"rope_scaled_positions", "rope_odd_ratio"}),
    "jonas": (100, 41, {"rope_static_keeps_growth", "rope_persistent_tables"}),
    "kofi": (65, 50, set()),
    "mina": (100, 50, set()),
    "nils": (58, 34, set()),
    "olga": (42, 50, set()),
    "pavel": (None, None, set()),
}

Sample = Callable[[str], Report]


@pytest.fixture(scope="module")
def sample(grader: Judge, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """``sample(id)``: the report of a student of the sample class, graded once."""
    folder = tmp_path_factory.mktemp("class")
    write_class(ASSIGNMENT, folder)
    candidates = {candidate.id: candidate for candidate in discover([folder])}
    assert candidates.keys() == {student.id for student in STUDENTS} == {*EXPECTED, "lena"}
    return cache(lambda identifier: grader.grade(candidates[identifier].read()))


@pytest.mark.parametrize("identifier", EXPECTED)
def test_the_sample_class_gets_what_it_deserves(sample: Sample, identifier: str) -> None:
    report = sample(identifier)
    named = {prop.misconception for prop in report.properties.values()} - {None}
    assert (report.score, report.bonus, named) == EXPECTED[identifier]
    assert report.status == ("unreadable" if identifier == "pavel" else "graded")


def test_every_lost_point_comes_with_a_hint_and_a_case_that_says_why(sample: Sample) -> None:
    lost = [p for name in EXPECTED for p in sample(name).properties.values() if p.points < p.max_points]
    assert len(lost) > 50
    for prop in lost:
        assert prop.hint, prop.id
        assert any(case.outcome is prop.outcome and case.message for case in prop.cases), prop.id


def test_a_full_property_comes_without_a_hint(sample: Sample) -> None:
    assert {prop.hint for prop in sample("ada").properties.values()} == {""}


def test_messages_hold_no_number_that_a_test_has_computed(sample: Sample) -> None:
    """Expected values have fractions. The only ones in a message are its own error and numbers of the input.

    Errors are in ulp, or to one digit; eps and magnitudes are named.
    ``test_compare`` shows the other half: errors in ulp say the same whatever value was expected.
    """
    for name in EXPECTED:
        for prop in sample(name).properties.values():
            for case in prop.cases:
                message = re.sub(r"the grader runs Python \d+\.\d+", "", case.message)
                known = [number for number in (case.error_ulp, case.limit_ulp) if number is not None]
                known += map(
                    float, re.findall(r"(?:eps=|up to |mean |deviation |are |input is )([-+.e\d]+)", case.message)
                )
                for listed in re.findall(
                    r"of magnitude ([-.e\d, ]+), group_size|angles are ([-.e\d, ]+) times", case.message
                ):
                    known += map(float, "".join(listed).split(", "))
                for fraction in map(float, re.findall(r"-?\d*\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+", message)):
                    assert any(fraction == pytest.approx(number, rel=0.01) for number in known), case.message
