"""Made-up classes: the sample gets what it deserves, planted copies come first, the mix of the benchmark is fixed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus import as_handed_in
from grader.assignment.corpus.as_handed_in import MIX, a_class
from grader.assignment.corpus.variants import all_variants, bases, from_slips
from grader.core.intake.discover import discover
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.extras.similarity.pairs import compared
from grader.extras.similarity.work import SHORT, read_known
from grader.selftest import LONG
from grader.selftest.classroom import DISGUISES, Files, copied, read
from grader.specimens.students import students, write_class

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
    ("size", "subtracted", "whole_within", "single_within"),
    # A class of sixty with GRADER_LONG=1, also one where all share the lecture.
    [(30, [LECTURE], 15, 20), *([(60, [LECTURE], 15, 20), (60, [], 15, 500)] if LONG else [])],
)
def test_planted_copies_rank_above_honest_pairs(
    size: int, subtracted: list[Path], whole_within: int, single_within: int
) -> None:
    lecture, step = read_known(ASSIGNMENT, subtracted), size // 6
    first, second, partly = 0, step // 2, 7 * step // 10  # of each so many students, copied as a whole, or copying
    people = {f"s{number:02}": files for number, files in enumerate(honest(size))}
    works = {work.id: work for work in read(people, lecture, ASSIGNMENT)}
    long_pieces = list(
        {
            name: (name, path)
            for name, work in works.items()
            for path, piece in work.pieces.items()
            if piece.length >= 1.2 * SHORT and int(name[1:]) % step not in (first, second, partly)
        }.values()
    )
    whole, single, copies = set(), set(), {}
    for number, disguise in enumerate(DISGUISES):
        for source in (f"s{step * number + place:02}" for place in (first, second)):
            copies[f"{disguise}-{source}"] = copied(people[source], disguise, ASSIGNMENT.rubric.expected)
            whole.add(frozenset((source, f"{disguise}-{source}")))
        source, path = long_pieces[number]
        copier = f"s{step * number + partly:02}"
        copies[copier] = people[copier] | copied(people[source], disguise, (path,))
        single.add(frozenset((source, copier)))
    works |= {work.id: work for work in read(copies, lecture, ASSIGNMENT)}
    ranked = [frozenset((pair.first.id, pair.second.id)) for pair in compared([*works.values()]).pairs]
    assert len(whole) == 10
    assert len(single) == 5
    assert len(works) == size + 10
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


def test_no_right_text_counts_as_a_mistake() -> None:
    for right in (ASSIGNMENT.solution(), ASSIGNMENT.part("corpus.variants").submission([]).files):
        for path, texts in as_handed_in._mistakes().items():
            assert right[path] not in texts.values()


ROPE = "src/modeling/pos_emb.py"

# id: score, bonus, misconceptions that the report must name. lena, who hangs, is not graded here.
EXPECTED: dict[str, tuple[float | None, float | None, set[str]]] = {
    "ada": (100, 50, set()),
    "bo": (0, 0, set()),
    "chen": (100, 0, set()),
    "dana": (92, 50, {"norm_over_whole_hidden"}),
    "emeka": (95, 50, {"norm_eps_outside"}),
    "farid": (95, 50, {"norm_step_in_16_bits"}),
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
    assert candidates.keys() == {student.id for student in students(ASSIGNMENT)} == {*EXPECTED, "lena"}
    return cache(lambda identifier: grader.grade(candidates[identifier].read()))


@pytest.mark.covered
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
                    float, re.findall(r"(?:eps=|up to |mean |deviation |are |input is )([-+.e\d]*\d)", case.message)
                )
                for listed in re.findall(
                    r"of magnitude ([-.e\d, ]+), hidden_size|angles are ([-.e\d, ]+) times", case.message
                ):
                    known += map(float, "".join(listed).split(", "))
                for fraction in map(float, re.findall(r"-?\d*\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+", message)):
                    assert any(fraction == pytest.approx(number, rel=0.01) for number in known), case.message
