"""How hidden tests are run: most by a shortcut, and those that need more of pytest by pytest's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from grader.core.judge.hidden_tests import HiddenTests, HiddenTestsError
from grader.examples.small.grader.assignment import ASSIGNMENT

TESTS = """
import pytest
from grader.core.judge.faults import WrongAnswer

pytestmark = pytest.mark.rubric("a")
EVENTS = []

@pytest.fixture
def resource():
    EVENTS.append("made")
    yield "resource"
    EVENTS.append("gone")

@pytest.mark.parametrize("number", [1, 2])
def test_parameters_and_seed_arrive(student, seed, number, device):
    if (student.name, seed, device) != ("ada", 7, "cpu") or number == 2:
        raise WrongAnswer("two")

def test_asks_for_nothing():
    assert EVENTS == []

def test_a_fixture_is_made(resource):
    assert (resource, EVENTS) == ("resource", ["made"])

def test_and_gone_afterwards(monkeypatch):
    assert EVENTS == ["made", "gone"]

@pytest.mark.skipif(True, reason="not here")
def test_a_mark_counts(seed):
    raise AssertionError

def test_may_leave_itself_out(seed):
    pytest.skip("no such device")

def test_may_be_wrong_itself(seed):
    raise KeyError("ours")

def short_of_memory():
    raise MemoryError

def test_may_be_too_large_for_words(seed):
    raise WrongAnswer(short_of_memory)

def test_is_not_put_in_words_where_it_is_passed_over(seed):
    with pytest.raises(WrongAnswer):
        raise WrongAnswer(short_of_memory).with_more(short_of_memory)

class TestOfAClass:
    def test_knows_itself(self, seed):
        assert isinstance(self, TestOfAClass)
"""
OUTCOMES = {
    "parameters_and_seed_arrive-cpu-1": ("passed", ""),
    "parameters_and_seed_arrive-cpu-2": ("failed", "two"),
    "asks_for_nothing": ("passed", ""),
    "a_fixture_is_made": ("passed", ""),
    "and_gone_afterwards": ("passed", ""),
    "a_mark_counts": ("not_assessed", "not here"),
    "may_leave_itself_out": ("not_assessed", "no such device"),
    "may_be_wrong_itself": ("grader_error", "the grader failed here, not you"),
    "may_be_too_large_for_words": ("invalid_reply", "judging this output takes more memory than is available"),
    "is_not_put_in_words_where_it_is_passed_over": ("passed", ""),
    "knows_itself": ("passed", ""),
}


def collected(place: Path, text: str) -> HiddenTests:
    folder = place / "hidden"
    folder.mkdir()
    (folder / f"test_{len(text)}.py").write_text(text)  # a name of its own: modules are kept by name
    return HiddenTests(replace(ASSIGNMENT, folder=folder.parent), ("cpu",), 7, ["a"])


def test_what_a_test_asks_for_decides_how_it_is_run(tmp_path: Path) -> None:
    ada = Mock(["name", "excuses", "start_case", "start_afresh", "condemns", "announce", "begin"], excuses=())
    ada.name, ada.condemns.return_value = "ada", False
    results = collected(tmp_path, TESTS).run(ada)
    assert {result.id: (str(result.outcome), result.message) for result in results} == OUTCOMES
    assert ada.start_case.call_count == len(OUTCOMES)
    assert "KeyError" in next(result.detail for result in results if result.id == "may_be_wrong_itself")


def test_tests_that_cannot_be_collected_are_named(tmp_path: Path) -> None:
    with pytest.raises(HiddenTestsError, match=r"(?s)test_\d+\.py.*has no @pytest\.mark\.rubric"):
        collected(tmp_path, "def test_unmarked():\n    pass\n")
