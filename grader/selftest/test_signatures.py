"""Signatures of known mistakes: sealed so that only who made a mistake reads of it, and refused if they hold more."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch

from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import REPOSITORY
from grader.tools.release.leaks import SIGNATURES, leaks
from grader.tools.signatures.mistakes import Cause
from grader.tools.signatures.sealing import MOST_BYTES, more_than_mistakes, sealed

RUBRIC = ASSIGNMENT.rubric
UNSCALED, LATER = "attention_unscaled", "attention_sees_later_tokens"
HEADS, CAUSAL = "attention_heads", "attention_causal"
A, B, C, D = (bytes([number]) * 32 for number in (1, 2, 3, 4))
opener: Any = import_module("tests.harness.sealed")  # untyped, as students are to read it
signature: Any = import_module("tests.harness.signature")
compare: Any = import_module("tests.harness.compare")


def cause(*names: str, also: tuple[str, ...] = ()) -> Cause:
    """What may lie behind a failure."""
    return Cause(frozenset(names), frozenset(also))


KNOWN = {
    HEADS: {
        (A, B): {cause(UNSCALED), cause(LATER, also=(CAUSAL,))},
        (C,): {cause(UNSCALED, LATER)},
        (D,): {cause(UNSCALED, also=(CAUSAL,))},
    }
}


def told(*keys: bytes, failing: tuple[str, ...] = (HEADS,)) -> list[str]:
    """The names of the mistakes that somebody with these signatures is told."""
    whole, _ = sealed(KNOWN, RUBRIC, REPOSITORY)
    return sorted(one["name"] for one in opener.explanations(whole, keys, failing))


def test_a_signature_opens_the_explanation_in_both_languages() -> None:
    whole, _ = sealed(KNOWN, RUBRIC, REPOSITORY)
    (one,) = opener.explanations(whole, [A], [HEADS])
    hint = RUBRIC.misconception(UNSCALED).hint
    assert (one["name"], one["en"], one["zh"]) == (UNSCALED, hint.en, hint.zh)


def test_of_two_causes_the_one_is_named_that_explains_what_fails() -> None:
    assert told(A) == [UNSCALED]  # the other one would fail another property
    assert told(A, failing=(HEADS, CAUSAL)) == [LATER]  # which explains both
    assert told(C) == sorted([UNSCALED, LATER])


def test_a_mistake_is_not_named_where_something_passes_that_it_fails() -> None:
    assert told(D) == []
    assert told(D, failing=(HEADS, CAUSAL)) == [UNSCALED]


def test_what_is_not_known_is_not_named() -> None:
    assert told(bytes(32)) == []
    assert told(A, C) == []  # one grid says this, the other that
    assert told(bytes(32), B) == [UNSCALED]  # near a border of one grid


def test_nothing_can_be_read_without_a_signature() -> None:
    text = json.dumps(sealed(KNOWN, RUBRIC, REPOSITORY)[0])
    assert not any(own.id in text or own.hint.en[:20] in text for own in RUBRIC.misconceptions)


# ── What a release refuses ──


def leaked(change: Callable[[dict[str, Any]], None]) -> list[str]:
    """What the search for leaks says of the file after a change."""
    whole, keys = sealed(KNOWN, RUBRIC, REPOSITORY)
    change(whole)
    return list(leaks({SIGNATURES: json.dumps(whole).encode()}, keys=keys))


def further_entry(whole: dict[str, Any]) -> None:
    """An entry that none of the keys opens, such as one that the right answer opens."""
    whole["known"][opener.place(whole["salt"], bytes(32))] = opener.seal(whole["salt"], bytes(32), "")


def other_text(whole: dict[str, Any]) -> None:
    """Something else than an explanation, under a key of a mistake."""
    whole["known"][opener.place(whole["salt"], A)] = opener.seal(whole["salt"], A, "the answer: is 42")


def longer_text(whole: dict[str, Any]) -> None:
    """More text behind what is sealed."""
    place = opener.place(whole["salt"], A)
    whole["known"][place] = base64.b64encode(base64.b64decode(whole["known"][place]) + b"the answer").decode()


def values(whole: dict[str, Any]) -> None:
    """Values beside the signatures."""
    whole["values"] = [0.5, 0.25]


def plain(whole: dict[str, Any]) -> None:
    """A list where text is sealed."""
    whole["told"] = {"0123456789ab": [0.5, 0.25]}


def large(whole: dict[str, Any]) -> None:
    """More than the file may have."""
    whole["known"]["0" * 12] = "A" * MOST_BYTES


@pytest.mark.parametrize("change", [further_entry, other_text, longer_text, values, plain, large])
def test_more_than_mistakes_is_a_leak(change: Callable[[dict[str, Any]], None]) -> None:
    found = leaked(change)
    assert found
    assert all(line.startswith(f"{SIGNATURES}: ") for line in found)


def test_mistakes_alone_are_none() -> None:
    assert leaked(lambda _: None) == []
    assert [*more_than_mistakes(b"no JSON", [], RUBRIC, REPOSITORY)] == ["is not made of sealed entries alone"]


# ── What is hashed ──


def look(values: list[float], test: str = "tests/test_a.py::test_b[float32]") -> Any:
    """How a test looks that received these values."""
    return signature.look_of(test, compare.MismatchError(("values", {}), received=torch.tensor(values)))


def test_rounding_does_not_change_a_signature_and_another_value_does() -> None:
    values, rounded = [1 / 3, -7.03126, 1e5, float("nan")], [1 / 3 + 1e-6, -7.03125, 1e5, float("nan")]
    once, again = (signature.signatures("p", [look(those)]) for those in (values, rounded))
    assert set(once) & set(again)  # on one grid at least
    assert not set(once) & set(signature.signatures("p", [look([0.5, *values[1:]])]))
    assert not set(once) & set(signature.signatures("q", [look(values)]))


def test_of_several_dtypes_the_finest_counts() -> None:
    fine, coarse = look([1.0]), look([2.0], "tests/test_a.py::test_b[bfloat16]")
    assert signature.signatures("p", [coarse, fine]) == signature.signatures("p", [fine])
    assert signature.signatures("p", []) == []


def test_sizes_in_an_error_count_and_addresses_do_not() -> None:
    def of(message: str) -> Any:
        return signature.look_of("t::a", RuntimeError(message))

    assert of("size of tensor a (3) must match 5") != of("size of tensor a (4) must match 2")
    assert of("no rule for <object at 0x7f01>") == of("no rule for <object at 0x7fA2>")


def test_names_of_ones_own_do_not_count() -> None:
    mine, yours = (
        signature.look_of("t::a", compare.MismatchError(("parameters", {"found": f"{name} [24]", "expected": "1"})))
        for name in ("gamma", "weight")
    )
    assert mine == yours
