"""Generated classes: planted copies in one of A2's variants come first; the mix of the benchmark's class is fixed."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus import as_handed_in
from grader.assignment.corpus.as_handed_in import MIX, SIZE, a_class
from grader.assignment.corpus.variants import all_variants, bases, from_slips
from grader.extras.similarity.pairs import compared
from grader.extras.similarity.work import SHORT, read_known
from grader.selftest import LONG
from grader.selftest.classroom import DISGUISES, Files, copied, read

# What variants share because they derive from it, as a class shares what was said in a lecture.
LECTURE: Final = Path(bases.__file__)


def honest(size: int) -> list[Files]:
    """Submissions of people who worked alone: the reference, with variants that nobody else has.

    Where a file's variants run out, the reference stands as it is, so that nothing of it is anybody's own.
    """
    reference = ASSIGNMENT.solution()
    people = [dict(reference) for _ in range(size)]
    # Those about devices are edits within the reference, and add no text of their own; slips share their templates.
    shared = {variant.name for variant in from_slips()}
    appended = [v for v in all_variants() if ".devices." not in v.name and v.name not in shared]
    for variant in sorted(appended, key=lambda variant: variant.name):
        home = ASSIGNMENT.rubric.file_of(variant.piece)
        mates = [person for person in people if person[home] == reference[home]] or people
        number = int(hashlib.sha256(variant.name.encode()).hexdigest(), 16)  # the same each time, in no order
        mates[number % len(mates)][home] += variant.files[home][len(reference[home]) :]
    return people


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subtracted", "whole_within", "single_within"),
    [([LECTURE], 15, 20), *([([], 15, 500)] if LONG else [])],  # or all share the lecture, with GRADER_LONG=1
)
def test_planted_copies_rank_above_honest_pairs_of_a_class_of_sixty(
    subtracted: list[Path], whole_within: int, single_within: int
) -> None:
    lecture = read_known(ASSIGNMENT, subtracted)
    people = {f"s{number:02}": files for number, files in enumerate(honest(60))}
    works = {work.id: work for work in read(people, lecture, ASSIGNMENT)}
    long_pieces = list(
        {
            name: (name, path)
            for name, work in works.items()
            for path, piece in work.pieces.items()
            if piece.length >= 1.2 * SHORT and int(name[1:]) % 10 not in (0, 5, 7)  # those have a part already
        }.values()
    )
    whole, single, copies = set(), set(), {}
    for number, disguise in enumerate(DISGUISES):
        for source in (f"s{10 * number:02}", f"s{10 * number + 5:02}"):
            copies[f"{disguise}-{source}"] = copied(people[source], disguise, ASSIGNMENT.rubric.expected)
            whole.add(frozenset((source, f"{disguise}-{source}")))
        source, path = long_pieces[number]
        copies[f"s{10 * number + 7:02}"] = people[f"s{10 * number + 7:02}"] | copied(people[source], disguise, (path,))
        single.add(frozenset((source, f"s{10 * number + 7:02}")))
    works |= {work.id: work for work in read(copies, lecture, ASSIGNMENT)}
    ranked = [frozenset((pair.first.id, pair.second.id)) for pair in compared([*works.values()]).pairs]
    assert len(whole) == 10
    assert len(single) == 5
    assert len(works) == 70  # so 2415 pairs
    assert max(map(ranked.index, whole)) < whole_within
    assert max(map(ranked.index, single)) < single_within


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
