"""Pairs that share what nobody else has come first; what everybody was given, and what is short, does not count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from grader.assignment import load_rubric
from grader.grading import reference_files
from grader.intake.candidate import Candidate
from grader.intake.origin import Origin, Student
from grader.selftest.classroom import DISGUISES, LECTURE, Desk, Files, copied, desks, honest
from grader.selftest.submissions import stubs
from grader.similarity.blocks import MAX_LINES, MAX_WIDTH, blocks
from grader.similarity.code import MAX_CHARACTERS, PASSAGE, read_code
from grader.similarity.findings import Findings, compared
from grader.similarity.known import Known, KnownError, read_known
from grader.similarity.pairs import EVERYTHING, Pair
from grader.similarity.work import HELPERS, SHORT, Piece, Work, read_work

NORM, VOCAB, ROPE = "src/modeling/norm.py", "src/modeling/vocab_emb.py", "src/modeling/pos_emb.py"
# Something that is in no reference: each statement is longer than a passage.
PLAN = """
def plan(weights, limit):
    total = sum(weight * weight for weight in weights if weight > limit)
    while total > limit and weights:
        total -= weights.pop() ** 2 + 3 * limit
    if total < 0 or not weights:
        raise ArithmeticError(f"{total} of {limit}")
    return [weight / (total + 1) for weight in reversed(weights)] or [limit]
"""
OTHER = """
class Store:
    def put(self, key, value):
        self.items.setdefault(key, []).append((value, len(self.items)))
        if len(self.items) % 7 == 3:
            del self.items[min(self.items, key=lambda name: -len(name))]
        return {name: values[-1][0] for name, values in self.items.items() if values}
"""


@pytest.fixture(scope="module")
def known() -> Known:
    return read_known()


def read(people: Mapping[str, Mapping[str, str]], known: Known) -> list[Work]:
    return [read_work(desk, known, load_rubric()) for desk in desks(people)]


def found(people: Mapping[str, Mapping[str, str]], known: Known) -> Findings:
    return compared(read(people, known))


def ids(pair: Pair) -> frozenset[str]:
    return frozenset((pair.first.id, pair.second.id))


def with_norm(*texts: str) -> Files:
    """The stubs, and texts added to the norm's."""
    return {**stubs(), NORM: "\n\n".join((stubs()[NORM], *texts))}


def test_planted_copies_rank_above_honest_pairs_of_a_class_of_sixty() -> None:
    lecture = read_known([LECTURE])
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
    assert set(ranked[:10]) == whole
    assert single <= set(ranked[:20])  # of 2415 pairs


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
    assert findings.notices == [("alone", "of the same student as group; the two were not compared")]


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_to_compare_with_is_no_error(size: int, known: Known) -> None:
    findings = found(dict.fromkeys(["ada"][:size], with_norm(PLAN)), known)
    assert findings.pairs == []
    assert len(findings.works) == size


HOSTILE = {
    "not Python": "def f(:\n  x",
    "nested parentheses": "x = " + "(" * 5000 + ")" * 5000,
    "nested minus": "x = " + "-" * 50_000 + "1",
    "nested not": "x = " + "not " * 20_000 + "1",
    "a long sum": "x = 1" + "+1" * 40_000,
    "a long chain": "x = torch" + ".a" * 40_000,
    "nested calls": "x = " + "getattr(" * 90 + "torch" + ", 'a')" * 90,
    "many elifs": "if a: b\n" + "elif a: b\n" * 8_000,
    "names that grow": "import torch\nx = torch\n" + "x = x.y\nx = x.z\n" * 4_000,
    "a chain of names": "import torch as a0\n" + "".join(f"a{n + 1} = a{n}.nn\n" for n in range(5_000)),
    "quotes": "'" * 50_001,
    "f-strings": 'f"{' * 20_000,
    "backslashes": "\\" * 50_000,
    "one line": "a=1;" * 24_000,
    "blank lines": "\n" * 90_000,
    "controls": "\x0c\x1b[31m\u202e\x7f\x00",
    "empty": "",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_source_stops_a_comparison(text: str, known: Known) -> None:
    people = {"ada": with_norm(PLAN) | {VOCAB: text}, "bo": with_norm(PLAN) | {VOCAB: text}, "eve": stubs()}
    findings = found(people, known)
    assert ids(findings.pairs[0]) == {"ada", "bo"}
    for match in findings.pairs[0].matches:
        shown = blocks(*(work.pieces[match.file] for work in findings.works[:2]))
        assert all(len(line.text) <= MAX_WIDTH + 1 for block in shown for line in (*block.first, *block.second))
        assert all(line.text.isprintable() for block in shown for line in (*block.first, *block.second))


def test_a_file_that_is_too_long_is_left_out_by_name(known: Known) -> None:
    (work,) = read({"ada": with_norm(PLAN) | {VOCAB: "x = 1\n" * MAX_CHARACTERS}}, known)
    assert work.pieces.keys() >= {NORM}
    assert VOCAB not in work.pieces
    assert f"{VOCAB}: 600000 characters; at most 100000 are compared; left out" in work.notices


def test_what_cannot_be_read_is_a_notice(known: Known) -> None:
    absent = read_work(Candidate("ada", Path(), reason="Nothing was handed in."), known, load_rubric())
    findings = compared([absent, *read({"bo": stubs()}, known)])
    assert findings.notices == [("ada", "Nothing was handed in.")]
    assert [work.id for work in findings.works] == ["bo"]


def piece(text: str, known: Known) -> Piece:
    (work,) = read({"ada": {NORM: text}}, known)
    return work.pieces[NORM]


def test_lines_side_by_side_are_those_that_match(known: Known) -> None:
    first = f"\n\n'''A page.'''\n\n{PLAN}\n\nx = 1\n{OTHER}"
    second = f"class Big:\n    y = 2  # a comment\n{OTHER}\n\n\nz = [3]\n{PLAN}"
    shown = blocks(piece(first, known), piece(second, known))
    for block in shown:
        for text, lines in ((first, block.first), (second, block.second)):
            assert all(text.split("\n")[line.number - 1] == line.text for line in lines if line.number)
    marked = [[line.text for line in block.first if line.matching] for block in shown]
    assert "    return [weight / (total + 1) for weight in reversed(weights)] or [limit]" in marked[0]
    assert [line.text for line in shown[0].second if line.matching][-1] == marked[0][-1]
    assert any("self.items.setdefault" in line for line in marked[-1])


def test_long_blocks_are_cut_and_gaps_are_left_out(known: Known) -> None:
    long = "\n".join(f"value_{n} = other[{n}] + {n} * 3 - 1" for n in range(400))
    (block,) = blocks(piece(long, known), piece(long, known))
    assert len(block.first) == MAX_LINES + 1
    assert block.first[-1].number is None
    gap = PLAN.replace("    while", "\n" * 9 + "    while")
    (block,) = blocks(piece(gap, known), piece(PLAN, known))
    assert [line.number for line in block.first].count(None) == 1
    assert all(line.number for line in block.second)


def test_a_reduced_text_keeps_its_place() -> None:
    text = "\n\nclass LongName:  # about\n    first = 1\n\n    def second(self):\n        return 'a string' + name\n"
    code = read_code(text)
    assert len(code.lines) == len(code.passages) + PASSAGE - 1
    assert sorted(set(code.lines.tolist())) == [2, 3, 5, 6]
    assert np.array_equal(code.lines, np.sort(code.lines))


def test_everything_together_is_the_sum_of_the_files(known: Known) -> None:
    both = {**with_norm(PLAN), VOCAB: OTHER}
    whole = found({"ada": both, "bo": both, "eve": stubs()}, known).pairs[0].whole
    assert whole.file == EVERYTHING
    assert whole.shared == whole.lengths
    assert whole.lengths[0] > 2 * SHORT
