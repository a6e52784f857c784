"""The lines side by side are those that match, and no source, however hostile, stops a comparison.

A third of the hostile sources is compared; ``GRADER_LONG=1`` compares all.
"""

from __future__ import annotations

import numpy as np
import pytest

from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.similarity.code import PASSAGE, read_code
from grader.extras.similarity.page import MAX_LINES, MAX_WIDTH, blocks
from grader.extras.similarity.pairs import compared
from grader.extras.similarity.work import Known, Piece, read_known
from grader.selftest import LONG
from grader.selftest.classroom import OTHER, PLAN, read, with_own
from grader.selftest.submissions import ATTENTION, SWIGLU


@pytest.fixture(scope="module")
def known() -> Known:
    return read_known(ASSIGNMENT)


def piece(text: str, known: Known) -> Piece:
    (work,) = read({"ada": {SWIGLU: text}}, known)
    return work.pieces[SWIGLU]


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


def test_a_line_that_only_one_has_is_shown_unmarked_between_those_that_match(known: Known) -> None:
    added = "        rows = [row[::-1] for row in self.rows if row][:8]\n"
    (block,) = blocks(piece(OTHER, known), piece(OTHER.replace("        if len", f"{added}        if len"), known))
    assert [line.text for line in block.second if not line.matching] == [added.rstrip("\n")]
    assert all(line.matching for line in block.first)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HOSTILE][:: 1 if LONG else 3])
def test_no_source_stops_a_comparison(name: str, known: Known) -> None:
    same = with_own(PLAN) | {ATTENTION: HOSTILE[name]}
    people = {"ada": same, "bo": same, "eve": ASSIGNMENT.stubs()}
    findings = compared(read(people, known))
    pair = findings.pairs[0]
    assert {pair.first.id, pair.second.id} == {"ada", "bo"}
    for match in pair.matches:
        shown = blocks(*(work.pieces[match.file] for work in findings.works[:2]))
        assert all(len(line.text) <= MAX_WIDTH + 1 for block in shown for line in (*block.first, *block.second))
        assert all(line.text.isprintable() for block in shown for line in (*block.first, *block.second))
