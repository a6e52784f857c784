"""Copies planted in a class of sixty, which is made of A2's variants, come first."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pytest

from grader.assignment import ASSIGNMENT
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
