"""Pairs that share what nobody else has come first, side by side; what all have, and what is short, does not count.

A third of the hostile sources is compared; ``GRADER_LONG=1`` compares all.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Origin, Student
from grader.core.messages import UserError, quoted
from grader.core.rubric import load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.similarity.library import Unparsed, first_of_each, library_use
from grader.extras.similarity.page import MAX_LINES, MAX_WIDTH, blocks, page
from grader.extras.similarity.pairs import Findings, Pair, compared
from grader.extras.similarity.work import (
    HELPERS,
    MAX_CHARACTERS,
    PASSAGE,
    SHORT,
    Known,
    Piece,
    read_code,
    read_known,
    read_work,
)
from grader.selftest import LONG
from grader.selftest.classroom import DISGUISES, OTHER, PLAN, Desk, copied, read, with_own
from grader.selftest.submissions import ATTENTION, SWIGLU, edited

STUBS = ASSIGNMENT.stubs()


@pytest.fixture(scope="module")
def known() -> Known:
    return read_known(ASSIGNMENT)


def found(people: Mapping[str, Mapping[str, str]], known: Known) -> Findings:
    return compared(read(people, known))


def ids(pair: Pair) -> frozenset[str]:
    return frozenset((pair.first.id, pair.second.id))


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguise_changes_little(disguise: str, known: Known) -> None:
    people = {"ada": with_own(PLAN, OTHER), "bo": copied(with_own(PLAN, OTHER), disguise), "eve": STUBS}
    pair = found(people, known).pairs[0]
    assert ids(pair) == {"ada", "bo"}
    assert min(pair.strongest.shares) > 0.7


def test_what_only_two_have_counts_in_full_and_what_all_have_hardly(known: Known) -> None:
    alone = {f"s{number}": with_own(PLAN if number < 2 else f"x{number} = 1") for number in range(12)}
    two = found(alone, known).pairs[0].strongest
    assert two.distinctive == min(two.shared) > SHORT
    everybody = {f"s{number}": with_own(PLAN) for number in range(12)}
    assert found(everybody, known).pairs == []


def test_stubs_and_reference_are_nobodys_own(known: Known) -> None:
    solution = ASSIGNMENT.solution()
    everywhere = found({"ada": solution, "bo": solution, "eve": STUBS, "kim": STUBS}, known)
    assert everywhere.pairs == []
    assert all(piece.length == 0 for work in everywhere.works for piece in work.pieces.values())


def test_an_edited_reference_counts_by_its_edits_alone(known: Known) -> None:
    (work,) = read({"ada": edited((SWIGLU, "(gate * (input @ self.up.mT))", "(gate + (input @ self.up.mT))"))}, known)
    assert 0 < work.pieces[SWIGLU].length < SHORT


def test_what_cannot_be_subtracted_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Python file to subtract"):
        read_known(ASSIGNMENT, [tmp_path])
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    with pytest.raises(UserError, match=r"latin\.py: cannot be subtracted"):
        read_known(ASSIGNMENT, [tmp_path])
    with pytest.raises(UserError, match=r"gone: no Python file"):
        read_known(ASSIGNMENT, [tmp_path / "gone"])
    (tmp_path / "latin.py").write_text("x = 1\n" * MAX_CHARACTERS)
    with pytest.raises(UserError, match="characters; at most"):
        read_known(ASSIGNMENT, [tmp_path])


def test_short_code_alone_makes_no_pair(known: Known) -> None:
    line = "\n\ndef gain(self):\n    return self.scale.exp().clamp(min=self.least, max=7) * 3\n"
    assert found({"ada": with_own(line), "bo": with_own(line), "eve": STUBS}, known).pairs == []


def test_one_copied_task_shows_beside_one_that_is_not(known: Known) -> None:
    ada = {SWIGLU: OTHER + "\n".join(f"a{n} = {n} ** {n} - {n}" for n in range(90)), ATTENTION: STUBS[ATTENTION] + PLAN}
    bo = {SWIGLU: "\n".join(f"b[{n}] = {n} % {n + 1}" for n in range(90)), ATTENTION: PLAN}
    pair = found({"ada": ada, "bo": bo, "eve": STUBS}, known).pairs[0]
    assert pair.strongest.file == ATTENTION
    assert min(pair.strongest.shares) > 0.9
    assert max(pair.whole.shares) < 0.5


def test_helper_files_are_compared_whatever_they_are_called(known: Known) -> None:
    people = {"ada": STUBS | {"src/a.py": PLAN}, "bo": STUBS | {"src/tools/b.py": PLAN}, "eve": STUBS}
    pair = found(people, known).pairs[0]
    assert {match.file for match in pair.matches} == {HELPERS}


def test_three_that_hang_together_are_a_group_and_two_are_none(known: Known) -> None:
    people = {name: with_own(PLAN) for name in ("ada", "bo", "chen")}
    others = {f"s{number}": STUBS for number in range(9)} | {"x": with_own(OTHER), "y": with_own(OTHER)}
    assert found({**people, **others}, known).groups == [["ada", "bo", "chen"]]


def test_submissions_of_the_same_student_are_not_compared(known: Known) -> None:
    ada, bo = Student(id="1", name="Ada"), Student(id="2", name="Bo")
    files = with_own(PLAN)
    room = [
        Desk("alone", Path(), texts=files, origin=Origin(source="canvas", students=(ada,))),
        Desk("group", Path(), texts=files, origin=Origin(source="canvas", students=(ada, bo))),
        Desk("third", Path(), texts=files, origin=Origin(source="canvas", students=(Student(id="3"),))),
    ]
    findings = compared([read_work(desk, desk.read(), known, ASSIGNMENT.rubric) for desk in room])
    assert {ids(pair) for pair in findings.pairs} == {frozenset(("alone", "third")), frozenset(("group", "third"))}
    assert findings.notices == [("alone", "same student as group; not compared with each other.")]


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_to_compare_with_is_no_error(size: int, known: Known) -> None:
    findings = found(dict.fromkeys(["ada"][:size], with_own(PLAN)), known)
    assert findings.pairs == []
    assert len(findings.works) == size


def test_what_was_not_looked_at_is_told_in_the_language_of_the_page(known: Known) -> None:
    files = {ATTENTION: "x = 1\n" * MAX_CHARACTERS, SWIGLU: "def f(:"}
    findings = found({"ada": with_own(PLAN) | files, "bo": STUBS}, known)
    english, chinese = (page(findings, ASSIGNMENT, [], 1, language) for language in ("en", "zh"))
    assert f"{ATTENTION}：600000 个字符；最多比较 100000 个；已忽略它。" in chinese
    assert f"{SWIGLU} 无法解析；未查找库调用。" in chinese
    assert f"{SWIGLU} cannot be parsed; library calls not checked." in english


def test_what_cannot_be_read_is_a_notice(known: Known) -> None:
    desk = Candidate("ada", Path(), reason=quoted("Nothing was handed in."))
    absent = read_work(desk, desk.read(), known, ASSIGNMENT.rubric)
    findings = compared([absent, *read({"bo": STUBS}, known)])
    assert findings.notices == [("ada", "Nothing was handed in.")]
    assert [work.id for work in findings.works] == ["bo"]


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


RUBRIC_PATH = ASSIGNMENT.folder / "rubric.toml"

FIRST, *OTHERS_TASKS = ASSIGNMENT.rubric.tasks
TASKS = (FIRST.model_copy(update={"library": ("Layer", "layer")}), *OTHERS_TASKS)
RUBRIC = ASSIGNMENT.rubric.model_copy(update={"tasks": TASKS})


def names(text: str) -> list[tuple[int, str]]:
    """Where what is used, in a file with that text."""
    return [(use.line, use.name) for use in library_use("src/a.py", text, RUBRIC)]


USES = {
    "a module by its path": ("import torch\nn = torch.nn.Layer(8)", [(2, "Layer")]),
    "a function by its path": ("import torch\ny = torch.layer(x, (8,))", [(2, "layer")]),
    "an alias of a package": ("import torch.nn.functional as Fn\ny = Fn.layer(x)", [(2, "layer")]),
    "an alias of a class, where it gets it": ("from torch.nn import Layer as R\nn = R(8)", [(1, "Layer")]),
    "a star": ("from torch.nn import *\nn = Layer(8)", [(2, "Layer")]),
    "getattr with a literal": ('import torch\ny = getattr(torch, "layer")(x)', [(2, "layer")]),
    "getattr upon getattr": ('import torch\ny = getattr(getattr(torch, "nn"), "Layer")', [(2, "Layer")]),
    "a name for a name": (
        "import torch\nf = g.layer\ng = torch.nn\nh: object = g.functional\ny = h.layer(x)",
        [(2, "layer"), (5, "layer")],
    ),
    "a walrus": ("from torch import nn\nif (m := nn): y = m.Layer(8)", [(2, "Layer")]),
    "import_module": ('import importlib\ny = importlib.import_module("torch.nn").Layer', [(2, "Layer")]),
    "__import__": ('y = __import__("torch.nn").nn.Layer(8)', [(1, "Layer")]),
    "a base class": ("from torch import nn\nclass E(nn.Layer): pass", [(2, "Layer")]),
    "an overload of an operator": ("import torch\ny = torch.ops.aten.layer.default(x)", [(2, "layer")]),
    "an alternative constructor": ("from torch import nn\ne = nn.Layer.from_pretrained(t)", [(2, "Layer")]),
    "what is kept in an object": ("import torch\nself.nn = torch.nn\nself.nn.Layer(8)", [(3, "Layer")]),
    "a path of any length": ("import torch\ntorch.a.b.c.d.e.f.g.h.i.Layer", [(2, "Layer")]),
    "one beside a function of one's own": ("def layer(x):\n    return torch.nn.functional.layer(x)", [(2, "layer")]),
    "another library": ("import transformers.models.llama as m", [(1, "transformers.models.llama")]),
    "a part of another library": ("from torchtune.modules import Rotary", [(1, "torchtune.modules")]),
    "another library by a literal": ('m = __import__("einops")', [(1, "einops")]),
    "the course's own solution": ("from ref.swiglu import SwiGLU", [(1, "ref.swiglu")]),
}


@pytest.mark.parametrize(("text", "expected"), USES.values(), ids=USES)
def test_a_library_call_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert names(text) == expected


OTHERS = {
    "a class of one's own": "class Layer: pass\nn = Layer()",
    "a class of one's own beside a star": "from torch.nn import *\nclass Layer(Module): pass\nn = Layer()",
    "a method of one's own": "self.layer(x)",
    "a function of one's own in another file": "from . import a\nfrom src import b\na.layer(x)\nb.layer(x)",
    "a name that is assigned": "layer = 3\ndef f(Layer):\n    return Layer * layer",
    "the function that looks up rows": "from torch.nn import functional as F\nF.embedding(ids, table)",
    "a name in a text": 'text = "torch.nn.Layer"  # torch.layer',
    "a computed name": "import torch\ngetattr(torch, name)\ngetattr(torch)\ngetattr(torch, 3)",
    "Python's own library": "import math, importlib\nfrom functools import cache\nm = importlib.import_module('math')",
    "one's own files": "from .a import Layer\nfrom . import Layer\nfrom src.a import rms\nfrom .x import *",
    "a call of nothing": "(lambda: 1)()\nx[0]()\n__import__()\n__import__(name)",
    "an annotation": "import torch\nx: torch.Tensor\na.b: int = 3",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_library_call_is_left_alone(text: str) -> None:
    assert names(text) == []


def test_a_finding_says_where_and_which_task() -> None:
    (use,) = library_use("src/attention.py", "import torch\n\n  \nn = torch.nn.Layer(8)  # short\n", RUBRIC)
    assert (use.path, use.line, use.task, use.code) == (
        "src/attention.py",
        4,
        "task1",
        "n = torch.nn.Layer(8)  # short",
    )
    (foreign,) = library_use("src/a.py", "import einops" + " " * 300 + "# far away", RUBRIC)
    assert foreign.task == ""
    assert foreign.code == "import einops" + " " * 107


def test_what_the_rubric_lists_counts(tmp_path: Path) -> None:
    text = RUBRIC_PATH.read_text(encoding="utf-8").replace('["torch"]', '["torch", "einops"]')
    (tmp_path / "rubric.toml").write_text(text, encoding="utf-8")
    assert library_use("src/a.py", "import einops", load_rubric(tmp_path / "rubric.toml")) == []


@pytest.mark.parametrize("text", ["def f(:", "x = 1\n" * MAX_CHARACTERS], ids=["syntax", "length"])
def test_what_has_no_syntax_tree_is_said(text: str) -> None:
    with pytest.raises(Unparsed):
        library_use("src/a.py", text, RUBRIC)


def test_very_many_imports_from_one_long_name_stay_small() -> None:
    """Each name with the module before it would take 160 MB."""
    text = f"from {'m' * 40_000} import {','.join(['a'] * 4_000)}"
    tracemalloc.start()
    library_use("a.py", text, ASSIGNMENT.rubric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


def test_thousands_of_imports_are_one_place_and_calls_for_a_task_another() -> None:
    imports = "".join(f"import lib{n}\n" for n in range(3000))
    found = first_of_each(
        library_use("src/a.py", f"{imports}import torch\na = b = torch.nn.Layer\nc = torch.nn.Layer", RUBRIC)
    )
    assert [(use.line, use.name, use.more) for use in found] == [(1, "lib0", 2999), (3002, "Layer", 1)]
