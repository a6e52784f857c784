"""Pairs that share what nobody else has come first; what everybody was given, and what is short, does not count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.assignment import load_rubric
from grader.grading import reference_files
from grader.intake.candidate import Candidate
from grader.intake.origin import Origin, Student
from grader.selftest.classroom import DISGUISES, LECTURE, OTHER, PLAN, Desk, copied, honest, read, with_norm
from grader.selftest.submissions import stubs
from grader.similarity.code import MAX_CHARACTERS
from grader.similarity.findings import Findings, compared
from grader.similarity.known import Known, KnownError, read_known
from grader.similarity.pairs import EVERYTHING, Pair
from grader.similarity.work import HELPERS, SHORT, read_work

NORM, VOCAB, ROPE = "src/modeling/norm.py", "src/modeling/vocab_emb.py", "src/modeling/pos_emb.py"


@pytest.fixture(scope="module")
def known() -> Known:
    return read_known()


def found(people: Mapping[str, Mapping[str, str]], known: Known) -> Findings:
    return compared(read(people, known))


def ids(pair: Pair) -> frozenset[str]:
    return frozenset((pair.first.id, pair.second.id))


@pytest.mark.parametrize(
    ("subtracted", "whole_within", "single_within"),
    [([LECTURE], 10, 20), ([], 15, 350)],
    ids=["the lecture subtracted", "the lecture shared by many"],
)
def test_planted_copies_rank_above_honest_pairs_of_a_class_of_sixty(
    subtracted: list[Path], whole_within: int, single_within: int
) -> None:
    lecture = read_known(subtracted)
    people = {f"s{number:02}": files for number, files in enumerate(honest(60))}
    works = {work.id: work for work in read(people, lecture)}
    whole, single, copies = set(), set(), {}
    for number, disguise in enumerate(DISGUISES):
        for source in (f"s{10 * number:02}", f"s{10 * number + 5:02}"):
            copies[f"{disguise}-{source}"] = copied(people[source], disguise)
            whole.add(frozenset((source, f"{disguise}-{source}")))
        source, path = next(
            (own, path)
            for own, work in works.items()
            for path, piece in work.pieces.items()
            if piece.length >= 1.2 * SHORT and int(own[1:]) % 10 == number + 1
        )
        copies[f"s{10 * number + 7:02}"] = people[f"s{10 * number + 7:02}"] | copied(people[source], disguise, (path,))
        single.add(frozenset((source, f"s{10 * number + 7:02}")))
    works |= {work.id: work for work in read(copies, lecture)}
    ranked = [ids(pair) for pair in compared([*works.values()]).pairs]
    assert len(whole) == 10
    assert len(single) == 5
    assert len(works) == 70  # so 2415 pairs
    assert whole <= set(ranked[:whole_within])
    assert single <= set(ranked[:single_within])


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_changes_little(disguise: str, known: Known) -> None:
    people = {"ada": with_norm(PLAN, OTHER), "bo": copied(with_norm(PLAN, OTHER), disguise), "eve": stubs()}
    pair = found(people, known).pairs[0]
    assert ids(pair) == {"ada", "bo"}
    assert min(pair.strongest.shares) > 0.7


def test_what_only_two_have_counts_in_full_and_what_all_have_hardly(known: Known) -> None:
    alone = {f"s{number}": with_norm(PLAN if number < 2 else f"x{number} = 1") for number in range(12)}
    two = found(alone, known).pairs[0].strongest
    assert two.distinctive == min(two.shared) > SHORT
    everybody = {f"s{number}": with_norm(PLAN) for number in range(12)}
    assert found(everybody, known).pairs == []


def test_stubs_and_reference_are_nobodys_own(known: Known) -> None:
    everywhere = found({"ada": reference_files(), "bo": reference_files(), "eve": stubs(), "kim": stubs()}, known)
    assert everywhere.pairs == []
    assert all(piece.length == 0 for work in everywhere.works for piece in work.pieces.values())


def test_an_edited_reference_counts_by_its_edits_alone(known: Known) -> None:
    edited = {**reference_files(), NORM: reference_files()[NORM].replace("mean_square + self.eps", "(mean_square)")}
    (work,) = read({"ada": edited}, known)
    assert 0 < work.pieces[NORM].length < 10


def test_a_copy_of_the_reference_is_named_as_such(known: Known) -> None:
    near = found({"ada": reference_files(), "eve": stubs(), "kim": with_norm(PLAN, OTHER)}, known).near
    assert {(each.id, each.answer) for each in near} == {("ada", "ref")}
    assert {each.file for each in near if each.share == 1} >= {NORM, VOCAB, ROPE}


def test_published_answers_are_subtracted_and_named(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(PLAN + OTHER)
    people = {"ada": with_norm(PLAN, OTHER), "bo": with_norm(PLAN, OTHER), "eve": stubs()}
    findings = found(people, read_known([tmp_path]))
    assert findings.pairs == []
    assert {(near.id, near.file, near.answer) for near in findings.near} == {
        (who, NORM, str(tmp_path)) for who in ("ada", "bo")
    }


def test_what_cannot_be_subtracted_is_named(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match="no Python file to subtract in it"):
        read_known([tmp_path])
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    with pytest.raises(KnownError, match=r"latin\.py: cannot be subtracted"):
        read_known([tmp_path])
    with pytest.raises(KnownError, match=r"gone: no Python file"):
        read_known([tmp_path / "gone"])
    (tmp_path / "latin.py").write_text("x = 1\n" * MAX_CHARACTERS)
    with pytest.raises(KnownError, match="characters; at most"):
        read_known([tmp_path])


def test_short_code_is_said_to_be_short(known: Known) -> None:
    line = "\n\ndef gain(self):\n    return self.gamma.exp().clamp(min=self.eps, max=7) * 3\n"
    assert found({"ada": with_norm(line), "bo": with_norm(line), "eve": stubs()}, known).pairs == []
    together = found(
        {"ada": with_norm(line) | {VOCAB: PLAN}, "bo": with_norm(line) | {VOCAB: PLAN}, "eve": stubs()}, known
    )
    short = {match.file: match.short for match in together.pairs[0].matches}
    assert short == {NORM: True, VOCAB: False}
    assert together.pairs[0].whole.shares == (1, 1)


def test_one_copied_task_shows_beside_three_that_are_not(known: Known) -> None:
    ada = {NORM: OTHER, VOCAB: stubs()[VOCAB] + PLAN, ROPE: "\n".join(f"a{n} = {n} ** {n} - {n}" for n in range(90))}
    bo = {NORM: "\n".join(f"b[{n}] = {n} % {n + 1}" for n in range(90)), VOCAB: PLAN, ROPE: "y = (1, 2)\n" * 50}
    pair = found({"ada": ada, "bo": bo, "eve": stubs()}, known).pairs[0]
    assert pair.strongest.file == VOCAB
    assert min(pair.strongest.shares) > 0.9
    assert max(pair.whole.shares) < 0.5


def test_helper_files_are_compared_whatever_they_are_called(known: Known) -> None:
    people = {"ada": {**stubs(), "src/a.py": PLAN}, "bo": {**stubs(), "src/tools/b.py": PLAN}, "eve": stubs()}
    pair = found(people, known).pairs[0]
    assert {match.file for match in pair.matches} == {HELPERS}


def test_three_that_hang_together_are_a_group_and_two_are_none(known: Known) -> None:
    people = {name: with_norm(PLAN) for name in ("ada", "bo", "chen")}
    others = {f"s{number}": stubs() for number in range(9)} | {"x": with_norm(OTHER), "y": with_norm(OTHER)}
    assert found({**people, **others}, known).groups == [["ada", "bo", "chen"]]


def test_submissions_of_the_same_student_are_not_compared(known: Known) -> None:
    ada, bo = Student(id="1", name="Ada"), Student(id="2", name="Bo")
    files = with_norm(PLAN)
    room = [
        Desk("alone", Path(), files=files, origin=Origin(source="canvas", students=(ada,))),
        Desk("group", Path(), files=files, origin=Origin(source="canvas", students=(ada, bo))),
        Desk("third", Path(), files=files, origin=Origin(source="canvas", students=(Student(id="3"),))),
    ]
    findings = compared([read_work(desk, known, load_rubric()) for desk in room])
    assert {ids(pair) for pair in findings.pairs} == {frozenset(("alone", "third")), frozenset(("group", "third"))}
    assert findings.notices == [("alone", "of the same student as group; the two were not compared.")]


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_to_compare_with_is_no_error(size: int, known: Known) -> None:
    findings = found(dict.fromkeys(["ada"][:size], with_norm(PLAN)), known)
    assert findings.pairs == []
    assert len(findings.works) == size


def test_a_file_that_is_too_long_is_left_out_by_name(known: Known) -> None:
    (work,) = read({"ada": with_norm(PLAN) | {VOCAB: "x = 1\n" * MAX_CHARACTERS}}, known)
    assert work.pieces.keys() >= {NORM}
    assert VOCAB not in work.pieces
    assert f"{VOCAB}: 600000 characters; at most 100000 are compared; it was left out." in work.notices


def test_what_cannot_be_read_is_a_notice(known: Known) -> None:
    absent = read_work(Candidate("ada", Path(), reason="Nothing was handed in."), known, load_rubric())
    findings = compared([absent, *read({"bo": stubs()}, known)])
    assert findings.notices == [("ada", "Nothing was handed in.")]
    assert [work.id for work in findings.works] == ["bo"]


def test_everything_together_is_the_sum_of_the_files(known: Known) -> None:
    both = {**with_norm(PLAN), VOCAB: OTHER}
    whole = found({"ada": both, "bo": both, "eve": stubs()}, known).pairs[0].whole
    assert whole.file == EVERYTHING
    assert whole.shared == whole.lengths
    assert whole.lengths[0] > 2 * SHORT
