"""Messages in Chinese say the same with the same numbers, and leave alone what nobody has translated."""

from __future__ import annotations

import re

import pytest

from grader.assignment import ASSIGNMENT
from grader.results.chinese import PHRASES, in_chinese

ALL = {**PHRASES, **ASSIGNMENT.phrases}

# A value for each part that a phrase leaves open.
PARTS = {
    "what": "float16 gradient of the input",
    "when": " after longer and shorter calls",
    "dtype": "float32",
    "tables": "bfloat16",
    "kind": "list",
    "name": "NTKAwareRoPE",
    "names": "cos, sin",
    "ids": "[[1, 2], [2, 1]]",
    "shape": "[2, 3]",
    "shapes": "[24], [2, 3]",
    "place": "[0, 1]",
    "sizes": "hidden_size=26, group_size=4",
    "size": "group_size=4",
    "where": "the input",
    "device": "cuda:0",
    "here": "a second device (simulated)",
    "there": "cuda:0",
}
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize("english", ALL)
def test_every_phrase_is_recognised_and_loses_nothing(english: str) -> None:
    numbers = {name: PARTS.get(name, str(index + 11)) for index, name in enumerate(PLACEHOLDER.findall(english))}
    chinese = in_chinese(english.format(**numbers), ASSIGNMENT)
    assert re.search(r"[\u4e00-\u9fff]", chinese)
    assert sorted(PLACEHOLDER.findall(ALL[english])) == sorted(PLACEHOLDER.findall(english))
    assert set(re.findall(r"\d+", english.format(**numbers))) <= set(re.findall(r"\d+", chinese))


def test_a_message_of_several_phrases_is_translated_part_by_part() -> None:
    message = (
        "float32 output for group_size=2, eps=1e-05: shape [1, 1, 6], 2 of 6 elements are wrong, "
        "the first at [0, 0, 4]; all of these have the opposite sign"
    )
    assert in_chinese(message, ASSIGNMENT) == (
        "float32 输出（group_size=2，eps=1e-05）：形状 [1, 1, 6]，6 个元素中有 2 个不对，第一个在 [0, 0, 4]；"
        "它们的符号全都相反"
    )


@pytest.mark.parametrize(
    "message", ["", "ValueError: no; such\n  src/a.py:1 in f: raise", "the shape is round", "; ; "], ids=repr
)
def test_what_nobody_has_translated_stays_as_it_is(message: str) -> None:
    assert in_chinese(message, ASSIGNMENT) == message
