"""Requests to the reference are recorded; replies to them are used and compared, however malformed they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.selftest.recorded import CALL, LOAD, NAME, PASSING, RECORDING, SINGLY, TABLE, X, packed
from grader.core.judge import record
from grader.core.judge.record import Noted, Replies, alike
from grader.core.judge.replay import Replayed, Unforeseen
from grader.core.judge.student import Student
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import InProcessWorker, Operation
from grader.core.sandbox.limits import Limits

# ── What is recorded ────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_reference_is_asked_for_is_recorded_case_by_case(rubric: Rubric) -> None:
    noted = Noted()
    student = Student(ASSIGNMENT.solution(), InProcessWorker, rubric, Limits())
    student.begin("", noted.around)
    for _ in range(2):
        student.start_case()
        noted.begin_case()
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    recording = noted.recording()
    assert recording
    assert recording.names == {NAME}
    assert recording.loads == [0]
    assert recording.cases == [[1], [2]]
    assert recording.singly == [*SINGLY, SINGLY[1]]
    assert recording.packed == packed(LOAD, CALL, CALL)


def test_a_property_that_asks_for_nothing_cannot_be_replayed() -> None:
    assert Noted().recording() is None


def test_a_property_that_asks_a_second_worker_cannot_be_replayed(rubric: Rubric) -> None:
    noted = Noted()
    noted.begin_case()
    for _ in range(2):
        student = Student(ASSIGNMENT.solution(), InProcessWorker, rubric, Limits())
        student.begin("", noted.around)
        student.apply_rotary_pos_emb(X, TABLE, TABLE)
    assert noted.recording() is None


STUB = {"error": {"kind": "not_implemented", "message": "Task 3", "frames": [["src/a.py", 1, "f"]], "place": 0}}
NO_OBJECT = {"error": {"kind": "crashed", "types": ["KeyError"], "frames": [], "place": 0}}
LATER = {"error": {**STUB["error"], "place": 1}}
CRASH = {"error": {"kind": "crashed", "types": ["ValueError"], "frames": [["src/a.py", 1, "f"]], "place": 0}}


@pytest.mark.parametrize(
    ("replies", "is_stub"),
    [
        ([STUB, STUB], True),
        ([STUB, NO_OBJECT], True),
        ([NO_OBJECT, STUB], False),
        ([STUB, LATER], False),
        ([STUB, CRASH], False),
        ([STUB, {"value": 1}], False),
        ([STUB], False),
        ([STUB, {"error": [1]}], False),
        *[([{"error": {**STUB["error"], "place": forged}}, STUB], False) for forged in (None, "0", [0], True, X)],
        *[([{"error": {**STUB["error"], "kind": forged}}, STUB], False) for forged in (None, ["not_implemented"], X)],
    ],
)
def test_a_case_that_only_reaches_stubs_is_known_by_its_replies(replies: list[dict[str, Any]], is_stub: bool) -> None:
    """A stub that a call reaches later may be another's, which an excuse passes over."""
    recording = replace(RECORDING, cases=[[1, 2]], singly=[*SINGLY, SINGLY[1]])
    given = packed({"value": None}, *replies)
    assert Replies(recording, given).stub_of(0) == (STUB["error"] if is_stub else None)
    assert Replies(replace(recording, raising=frozenset({0})), given).stub_of(0) is None


# ── What replies are good for ───────────────────────────────────────────────────────────────────────────────────────


def replayed(replies: bytes) -> Replayed:
    """A replay of these replies, at its first case."""
    worker = Replayed(Replies(RECORDING, replies))
    worker.begin_case(0)
    return worker


def test_a_case_gets_the_replies_that_belong_to_it() -> None:
    two = replace(RECORDING, cases=[[1], [2]], singly=[*SINGLY, SINGLY[1]])
    worker = Replayed(Replies(two, packed({"value": None}, {"value": 1}, {"value": 2})))
    for place in (1, 0, 1):
        worker.begin_case(place)
        assert worker.request(CALL, 1.0) == {"value": place + 1}
    assert worker.request(LOAD, 1.0) == {"value": None}


def test_a_request_that_was_not_recorded_has_no_reply() -> None:
    worker = replayed(PASSING)
    with pytest.raises(Unforeseen):
        worker.request([("call", {"target": NAME, "arguments": [X.double(), TABLE, TABLE]})], 1.0)


@pytest.mark.parametrize(
    "replies",
    [
        b"",
        packed(),
        packed({"value": None}),
        packed({"value": None}, {"verdict": "passed"}),
        PASSING[:-1],
        PASSING + b"x",
        b"\xff\xff\xff\xff" + PASSING,
    ],
    ids=["empty", "none", "too_few", "no_value", "short", "long", "size"],
)
def test_malformed_replies_decide_nothing(replies: bytes) -> None:
    with pytest.raises(Unforeseen):
        replayed(replies).request(CALL, 1.0)


# ── Two answers to one request ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (torch.ones(3), torch.ones(3) * (1 + 2.0**-20), True),
        (torch.ones(3), torch.ones(3) * 1.01, False),
        (torch.ones(3), torch.ones(3).double(), False),
        (torch.ones(3), torch.ones(1, 3), False),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, math.nan]), True),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]), False),
        (torch.tensor([1.0, math.inf]), torch.tensor([1.0, -math.inf]), False),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), False),
        (torch.tensor([1j]), torch.tensor([1j * (1 + 2.0**-20)]), True),
        ([1, "a"], [1, "a"], True),
        ([1, "a"], [1, "b"], False),
        ((torch.ones(2),), (torch.ones(2) * 2,), False),
        (None, 1, False),
    ],
    ids=str,
)
def test_values_are_alike_up_to_their_last_bits(one: object, other: object, same: bool) -> None:
    assert alike({"value": one}, {"value": other}) is same


def test_two_errors_of_a_kind_are_alike_whatever_they_say() -> None:
    """A worker whose own words for exceptions have been replaced gives errors of another kind."""
    first, second = ({"error": {"kind": "crashed", "message": f"at 0x{n}"}} for n in (1, 2))
    assert alike(first, second)
    assert not alike(first, {"error": {"kind": "passed", "message": "all well"}})
    assert not alike({"error": {}}, {"value": None})


@pytest.mark.parametrize("kind", [None, [], {}, torch.ones(2)], ids=["none", "list", "dict", "tensor"])
def test_an_error_of_a_forged_kind_is_one_without_a_kind(kind: object) -> None:
    forged = {"error": {"kind": kind}}
    assert record.error_kind(forged) == ""
    assert alike(forged, {"error": {}})
    assert Replies(RECORDING, packed({"value": None}, forged)).are_whole


def agree(*replies: dict[str, Any], asked: Sequence[Operation] = tuple(CALL)) -> bool:
    """Whether a worker that gives these replies has answered as the passing ones."""

    class Answering(InProcessWorker):
        def request(self, *_: Any) -> dict[str, Any]:
            return given.pop(0)

    given, noted = list(replies), Noted()
    noted.around(Answering({})).begin_case()
    noted.request(LOAD, 1.0)
    for _ in replies[1:]:
        noted.request(asked, 1.0)
    return Replies(RECORDING, PASSING).agree_in_case(0, noted.of_case)


@pytest.mark.parametrize(
    ("reply", "same"),
    [({"value": X}, True), ({"value": -X}, False), ({"error": {}}, False), ({"error": {"kind": "timed_out"}}, True)],
)
def test_another_value_than_before_is_noticed(reply: dict[str, Any], same: bool) -> None:
    assert agree({"value": None}, reply) is same


def test_after_another_request_nothing_is_compared_any_more() -> None:
    other: list[Operation] = [("call", {"target": NAME, "arguments": []})]
    assert agree({"value": None}, {"value": 1}, {"value": -X}, asked=other)
