"""Wrong mutants of right submissions lose points, equivalent ones lose none, and exceptions are explained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import typer

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.answers import Probe, alike
from grader.core.judge.devices import devices
from grader.core.judge.hidden_tests import HiddenTests
from grader.lab.mutants import __main__
from grader.lab.mutants.__main__ import MutantJudge, Verdict, page, problems, read_table
from grader.lab.mutants.behaviour import Comparison
from grader.lab.mutants.mutants import Mutant, mutants

NORM = "src/modeling/norm.py"
WRONG = "mean_square + self.eps", "mean_square - self.eps"
EQUIVALENT = '"Choose a group_size that divides hidden_size."', '"Choose another."'


def edited(old: str, new: str) -> dict[str, str]:
    files = ASSIGNMENT.solution()
    assert old in files[NORM]
    return {**files, NORM: files[NORM].replace(old, new)}


def made_up(after: str) -> Mutant:
    return Mutant("ref", "src/a.py", "f", "return 1", after, f"def f():\n    {after}\n")


KILLED = Verdict(made_up("return 2"), {"f": "value"}, frozenset({"p"}))
SURVIVOR = Verdict(made_up("return 3"), {"f": "raises"}, frozenset())
HARMLESS = Verdict(made_up("return +1"), {}, frozenset())
FAULTY = Verdict(made_up("return None"), {"f": "value"}, frozenset(), "p, a_case")
CHARGED = Verdict(made_up("return 1.0"), {}, frozenset({"p"}))


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("x = torch.float32", "x = torch.float16"),
        ("x = y.clone().to(z)", "x = y.to(z)"),
        ("self.p = nn.Parameter(x)", "self.p = (x)"),
        ("self.p = nn.Parameter(x)", "self.p = nn.Parameter(x, requires_grad = False)"),
        ("self.p = nn.Parameter(x)", "self.p = nn.Buffer(x)"),
        ("x.masked_fill(y, 0)", "x.masked_fill_(y, 0)"),
        ("x.normal_(0, 1)", "x.normal(0, 1)"),
        ("x = y * z", "x = ((y).mul_(z))"),
        ("x = y * z", "x = (z)"),
        ("f(x, y)", "f(y, x)"),
        ("x, y = y, x", "x, y = x, y"),
        ("x = y // z", "x = (-(-(y) // (z)))"),
        ("x = math.ceil(y)", "x = math.floor(y)"),
        ("x = y < z", "x = y > z"),
        ("x = y < z", "x = y <= z"),
        ("return x", "return ((x).detach())"),
        ("if x: pass", "if True: pass"),
        ("torch.manual_seed(x)", "pass"),
        ("f(x, persistent=False)", "f(x, persistent=True)"),
        ("x = self.y", 'x = (self.__dict__.setdefault("_first x", (self.y)))'),
    ],
)
def test_an_axis_has_its_edits(line: str, changed: str) -> None:
    text = f"class A:\n    def f(self, x):\n        {line}\n"
    texts = {mutant.text for mutant in mutants("ref", {"src/a.py": text})}
    assert text.replace(line, changed) in texts


def test_defaults_order_and_memory_have_edits_of_whole_functions() -> None:
    text = "def f(x, eps=1):\n    y = x\n    return eps\n"
    texts = {mutant.text for mutant in mutants("ref", {"src/a.py": text})}
    assert text.replace("eps=1", "eps=2") in texts
    assert text.replace("    y", "    eps = 1\n    y") in texts
    assert "def f(x, eps=1):\n    return eps\n    y = x\n" in texts
    assert f'@(__import__("functools").lru_cache(None))\n{text}' in texts
    assert f'@(__import__("torch").no_grad())\n{text}' in texts


def test_nothing_outside_functions_and_no_annotation_is_edited() -> None:
    text = 'import math\n\nX: int = 1\n\n\nclass A:\n    y = 2\n\n    def f(self) -> "A":\n        """Nothing."""\n'
    for mutant in mutants("ref", {"src/a.py": text}):
        assert mutant.text.startswith(text[: text.index("    def")])
        assert '-> "A":' in mutant.text


# ── Whether two answers agree ───────────────────────────────────────────────────────────────────────────────────────


def agree(right: Any, other: Any, operation: str = "call", **how: Any) -> bool:
    return alike(Probe([(operation, {})], **how), {"value": right}, {"value": other})


def test_rounding_agrees_and_more_does_not() -> None:
    one = torch.tensor([1.0, -3.0])
    for dtype, ulps in ((torch.float32, 16), (torch.bfloat16, 4)):
        right, eps = one.to(dtype), torch.finfo(dtype).eps
        assert agree(right, (one * (1 + 0.9 * ulps * eps)).to(dtype))
        assert not agree(right, (one * (1 + 3 * ulps * eps)).to(dtype))
        assert not agree(right, (one * (1 + 2 * eps)).to(dtype), scale="exact")
    small = torch.tensor([1.0, 1e-9])
    assert not agree(small, torch.tensor([1.0, 2e-9]))
    assert agree(small, torch.tensor([1.0, 2e-9]), scale="pair")
    assert not agree(one, one.double())
    assert not agree(one, one.reshape(2, 1))
    assert not agree(one, torch.tensor([1.0, torch.nan]))


def test_angles_allow_more_rounding_further_out() -> None:
    right, angles = torch.ones(1, 2, 1, 2), torch.tensor([[0.0], [1000.0]])
    off = right.clone()
    off[0, 1] += 1e-3
    assert agree(right, off, scale="pair", angles=angles)
    assert not agree(right, off.flip(1), scale="pair", angles=angles)
    assert not agree(right, off, scale="pair")


def test_what_the_contract_leaves_free_agrees() -> None:
    table, gamma = torch.ones(2, 4), torch.ones(6)
    entry = {"name": "cos", "value": table}
    assert agree([entry], [{"name": "n", "value": gamma}, {"name": "c", "value": table}], "buffers")
    assert not agree([entry], [{"name": "c", "value": table * 2}], "buffers")
    assert not agree([], [entry], "buffers")
    assert agree([{"name": "g", "value": gamma}], [{"name": "h", "value": gamma.reshape(2, 3)}], "parameters")
    assert not agree([{"name": "g", "value": table}], [{"name": "g", "value": table.T}], "parameters", scale="exact")
    assert agree(["gamma"], ["weight"], "state_dict")
    assert not agree(["gamma"], [], "state_dict")
    assert agree(gamma, gamma * 2, draws=(gamma * 2,))
    assert not agree(gamma, gamma * 2, draws=(gamma * 3,))


def test_a_refusal_names_both_sizes_in_an_error_of_the_contract() -> None:
    probe = Probe([("construct", {})], sizes=(10, 3))
    for types, message, right in (
        (["ValueError"], "10 % 3", True),
        (["ValueError"], "10 is bad", False),
        (["TypeError"], "10 % 3", False),
    ):
        error = {"error": {"types": types, "message": message}}
        assert alike(probe, error, error) == right
    assert not alike(probe, {"error": {}}, {"value": None})


@pytest.fixture(scope="module")
def judge() -> Iterator[MutantJudge]:
    """The judge of mutants, with its fork server."""
    with contextlib.closing(MutantJudge()) as mutants:
        yield mutants


@pytest.mark.process
def test_an_equivalent_edit_answers_alike_and_a_wrong_one_does_not(judge: MutantJudge) -> None:
    """In workers; ``test_styles.py`` asks right submissions for every probe in this process."""
    second = next(iter(devices("auto")[1:]), None)
    comparison = Comparison(judge.start_worker, ASSIGNMENT.solution(), second)
    assert comparison.using(NORM) == ["GroupRMSNorm"]
    assert comparison.using("src/functional.py") == ["apply_rotary_pos_emb", "NTKAwareRoPE"]
    assert comparison.difference("GroupRMSNorm", edited(*WRONG)) == "value"
    assert comparison.difference("GroupRMSNorm", edited(*EQUIVALENT)) == ""
    assert comparison.difference("GroupRMSNorm", edited("groups.square()", "groups.squared()")) == "raises"
    assert comparison.difference("GroupRMSNorm", edited("import torch\n", "import torche\n")) == "at once"


@pytest.mark.process
def test_so_many_wrong_mutants_are_judged_and_those_that_cannot_be_imported_are_left_out(
    judge: MutantJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ("import torch\n", "import torche\n"), EQUIVALENT, WRONG, WRONG
    chosen = [Mutant("ref", NORM, "GroupRMSNorm", *change, edited(*change)[NORM]) for change in changes]
    monkeypatch.setattr("grader.lab.mutants.__main__.mutants", lambda *_: iter(chosen))
    verdicts = [*judge.verdicts("ref", ASSIGNMENT.solution(), wrong=1)]
    assert [(verdict.mutant, dict(verdict.differing)) for verdict in verdicts] == [
        (chosen[1], {}),
        (chosen[2], {"GroupRMSNorm": "value"}),
    ]
    assert all(verdict.is_right for verdict in verdicts)


@pytest.mark.process
def test_a_hidden_test_that_fails_by_itself_is_no_kill(judge: MutantJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> HiddenTests:
        raise ZeroDivisionError

    monkeypatch.setattr("grader.assignment.oracle.rms_norm", broken)
    mutant = Mutant("ref", NORM, "GroupRMSNorm", *WRONG, edited(*WRONG)[NORM])
    monkeypatch.setattr("grader.lab.mutants.__main__.mutants", lambda *_: iter([mutant]))
    (verdict,) = judge.verdicts("ref", ASSIGNMENT.solution(), wrong=1)
    assert verdict.fault.startswith("norm_")
    assert not verdict.is_right


# ── The table of explanations, the page and the command ─────────────────────────────────────────────────────────────


def test_wrong_verdicts_and_explanations_must_agree() -> None:
    table = {"Rounding.": [SURVIVOR.mutant.name]}
    assert [verdict.is_right for verdict in (KILLED, SURVIVOR, HARMLESS, CHARGED)] == [True, False, True, False]
    assert problems([KILLED, SURVIVOR, HARMLESS], table) == []
    assert problems([SURVIVOR, CHARGED], table) == [
        "is equivalent, but loses p, unexplained: ref, src/a.py, f: return 1 -> return 1.0"
    ]
    assert problems([FAULTY], {}) == [
        "makes the grader fail in p, a_case, unexplained: ref, src/a.py, f: return 1 -> return None"
    ]
    assert problems([SURVIVOR], {}) == ["survives, unexplained: ref, src/a.py, f: return 1 -> return 3"]
    assert problems([KILLED], table) == [
        "is explained, but judged rightly or not made: ref, src/a.py, f: return 1 -> return 3"
    ]


def test_an_explanation_is_a_sentence_about_mutants_that_no_other_explains() -> None:
    explained = [name for names in read_table().values() for name in names]
    assert len(set(explained)) == len(explained)
    assert all(why.endswith(".") for why in read_table())


def test_the_page_counts_and_shows_every_wrong_verdict_below_its_explanation() -> None:
    text = page([KILLED, SURVIVOR, HARMLESS], {"Rounding.": [SURVIVOR.mutant.name, "gone"]})
    assert "| ref | 2 | 1 | 1 | 1 | 1 | 0 |\n| all | 2 | 1 | 1 | 1 | 1 | 0 |" in text
    assert text.endswith("\nRounding. (1)\n\n```diff\n  ref, src/a.py, f\n- return 1\n+ return 3\n```\n")


def test_the_command_fails_over_an_unexplained_survivor(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path_factory.mktemp("page") / "mutants.md"
    judge = SimpleNamespace(verdicts=lambda *_, **__: [KILLED, SURVIVOR], close=lambda: None)
    monkeypatch.setattr(__main__, "MutantJudge", lambda: judge)
    monkeypatch.setattr(__main__, "PAGE", place)
    monkeypatch.setattr(__main__, "sources", lambda: {"ref": {}})
    for table, status in (({"Rounding.": [SURVIVOR.mutant.name]}, 0), ({}, 1)):
        monkeypatch.setattr(__main__, "read_table", lambda table=table: table)
        with pytest.raises(typer.Exit) as ended:
            __main__.main()
        assert ended.value.exit_code == status
        assert "2 wrong mutants, 1 caught (50.0%)" in capsys.readouterr().out
        assert place.read_text().startswith("# Mutants of right submissions")
