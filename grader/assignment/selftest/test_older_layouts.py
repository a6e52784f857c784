"""Submissions from earlier courses are charged as a lecturer would: for what they do, and once for their layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.selftest.older_layouts import FUNCTIONAL_FILE, OLDER, Older
from grader.core.results.outcome import CaseResult, Outcome
from grader.lab.charges import lost

Judge = Callable[..., list[CaseResult]]


def files_of(older: Older) -> dict[str, str]:
    """The whole submission."""
    files = {**ASSIGNMENT.solution(), **older.files}
    return {path: text for path, text in files.items() if text is not None}


@pytest.mark.slow
@pytest.mark.parametrize("older", OLDER, ids=lambda older: older.name)
def test_an_older_layout_is_charged_as_a_lecturer_would(judge: Judge, older: Older) -> None:
    assert lost(judge(files_of(older))) == older.loses, older.told


def test_a_file_that_is_not_there_is_told_as_missing_wherever_it_is_met(judge: Judge) -> None:
    """Not as a rotation that does not turn."""
    older = next(one for one in OLDER if one.name == "no_functional_file")
    results = [result for result in judge(files_of(older)) if result.property_id in older.loses]
    asked = [result for result in results if result.outcome is not Outcome.NOT_ASSESSED]
    told = [result for result in asked if result.outcome is not Outcome.PASSED]
    assert {result.outcome for result in told} == {Outcome.MISSING}
    assert all(FUNCTIONAL_FILE in result.message for result in told)
