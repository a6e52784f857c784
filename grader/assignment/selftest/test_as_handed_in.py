"""The class of the benchmark: its mix is fixed, at any size, and the same class is made each time."""

from __future__ import annotations

from collections import Counter

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus import as_handed_in
from grader.assignment.corpus.as_handed_in import MIX, SIZE, a_class


@pytest.mark.parametrize("size", [20, 80])
def test_a_class_of_any_size_has_the_same_mix_within_one(size: int) -> None:
    counts = Counter(member.kind for member in a_class(size))
    assert sum(counts.values()) == size
    assert sum(MIX.values()) == 100
    assert all(abs(counts[kind] - percent * size / 100) < 1 for kind, percent in MIX.items())


def test_no_two_submissions_have_the_same_text_and_the_same_class_comes_again() -> None:
    texts = [tuple(sorted(member.files.items())) for member in a_class(80)]
    assert len(set(texts)) == 80
    assert texts == [tuple(sorted(member.files.items())) for member in a_class(80)]


def test_new_mistakes_take_the_place_of_few_members(monkeypatch: pytest.MonkeyPatch) -> None:
    before, new = a_class(), {f"wrong.new_{number}": "pass" for number in range(5)}
    more = {path: {**texts, **new} for path, texts in as_handed_in._mistakes().items()}
    monkeypatch.setattr(as_handed_in, "_mistakes", lambda: more)
    assert 0 < sum(member != then for member, then in zip(a_class(), before, strict=True)) < SIZE / 20


def test_no_right_text_counts_as_a_mistake() -> None:
    for right in (ASSIGNMENT.solution(), ASSIGNMENT.part("corpus.variants").submission([]).files):
        for path, texts in as_handed_in._mistakes().items():
            assert right[path] not in texts.values()
