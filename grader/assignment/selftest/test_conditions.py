"""Conditions meet: of cases that are drawn by turns, every two values of any two axes are in some case together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, product
from typing import Any

from grader.assignment.hidden.checks import in_turns


def apart(cases: Iterable[Mapping[str, Any]]) -> set[tuple[tuple[str, str], ...]]:
    """Values of two axes, each with its axis, that are in no case together."""
    shown = [{axis: str(value) for axis, value in case.items()} for case in cases]
    axes = {axis: {case[axis] for case in shown} for axis in shown[0]}
    wanted: set[tuple[tuple[str, str], ...]] = {
        ((first, a), (second, b))
        for first, second in combinations(axes, 2)
        for a, b in product(axes[first], axes[second])
    }
    return wanted - {pair for case in shown for pair in combinations(case.items(), 2)}


def test_values_that_never_meet_are_found() -> None:
    cases = [{"dtype": 16, "again": True}, {"dtype": 32, "again": False}, {"dtype": 16, "again": False}]
    assert apart(cases) == {(("dtype", "32"), ("again", "True"))}


def test_by_turns_all_conditions_meet_in_as_many_cases_as_two_axes_have() -> None:
    for count in (2, 3, 4):
        names, cases = in_turns("again", "value", **{f"v{number}": number for number in range(count)}).args
        assert len(cases) == 3 * count
        assert apart(dict(zip(names, case, strict=True)) for case in cases) == set()
