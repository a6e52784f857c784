"""Mutants are small changes with names of their own, and none may survive without an explanation."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Mapping

import pytest

from grader.judge.hidden_tests import HiddenTests
from grader.rubric import Rubric
from grader.tools.mutation import Mutant, __main__, all_mutants
from grader.tools.mutation.survivors import Explanation, MutantJudge, page, problems, read_table

KILLED = [
    "GroupRMSNorm.forward: normalised = groups / torch.sqrt(mean_square + self.eps)"
    " -> normalised = groups / torch.sqrt(mean_square - self.eps)",
    "ParallelVocabEmbedding.__init__: rank: int = 0, -> rank: int = 1,",
]


@pytest.fixture(scope="module")
def mutants() -> Mapping[str, Mutant]:
    """Every mutant by its name; making them takes seconds."""
    return {mutant.name: mutant for mutant in all_mutants()}


def made_up(after: str) -> Mutant:
    """A mutant of a file that is not there."""
    return Mutant("src/a.py", "f", "return 1", after, f"def f():\n    {after}\n")


@pytest.mark.slow
def test_every_mutant_is_another_program_with_a_name_of_its_own(mutants: Mapping[str, Mutant]) -> None:
    """Some 300, from every file; how many exactly is up to mutmut."""
    assert len(mutants) > 250
    assert {mutant.path.rpartition("/")[2] for mutant in mutants.values()} == {
        "functional.py",
        "norm.py",
        "pos_emb.py",
        "vocab_emb.py",
    }
    for mutant in mutants.values():
        assert mutant.before != mutant.after
        ast.parse(mutant.text)


@pytest.mark.slow
def test_every_explanation_is_of_mutants_that_there_are(mutants: Mapping[str, Mutant]) -> None:
    explained = [name for entry in read_table() for name in entry.mutants]
    assert len(set(explained)) == len(explained)
    assert set(explained) <= mutants.keys()
    assert all(entry.why.endswith(".") for entry in read_table())


@pytest.mark.process
def test_a_mutant_that_breaks_the_contract_is_killed(mutants: Mapping[str, Mutant], rubric: Rubric) -> None:
    with contextlib.closing(MutantJudge(rubric)) as judge:
        assert [name for name in KILLED if judge.survives(mutants[name])] == []


def test_survivors_and_explanations_must_agree() -> None:
    one, two = made_up("return 2"), made_up("return 3")
    names = [one.name, two.name]
    table = [Explanation((one.name,), "Equivalent.")]
    assert problems([one], table, names) == []
    assert problems([one, two], table, names) == ["survives unexplained: f: return 1 -> return 3"]
    assert problems([], table, names) == ["is explained, but killed: f: return 1 -> return 2"]
    assert problems([], table, []) == ["is explained, but there is no such mutant: f: return 1 -> return 2"]


def test_the_page_shows_every_survivor_below_its_explanation() -> None:
    survivor = made_up("return 2")
    text = page({"src/a.py": (3, 2)}, [survivor], [Explanation((survivor.name, "gone"), "Equivalent.")])
    assert "| src/a.py | 3 | 2 | 1 |\n| all | 3 | 2 | 1 |" in text
    assert text.endswith("\nEquivalent. (1)\n\n```diff\n  src/a.py, f\n- return 1\n+ return 2\n```\n")


class Stub:
    """Lets the first mutant survive."""

    def __init__(self, rubric: Rubric) -> None:
        """Nothing to start."""
        del rubric
        self._first = True

    def survives(self, mutant: Mutant) -> bool:
        """Whether it is the first."""
        del mutant
        first, self._first = self._first, False
        return first

    def close(self) -> None:
        """Nothing to end."""


def test_the_command_fails_over_an_unexplained_survivor(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path_factory.mktemp("page") / "mutants.md"
    survivor = made_up("return 2")
    monkeypatch.setattr(__main__, "MutantJudge", Stub)
    monkeypatch.setattr(__main__, "PAGE", place)
    monkeypatch.setattr(__main__, "all_mutants", lambda: [survivor, made_up("return 3")])
    for table, status in (([Explanation((survivor.name,), "Equivalent.")], 0), ([], 1)):
        monkeypatch.setattr(__main__, "read_table", lambda table=table: table)
        assert __main__.main() == status
        assert "2 mutants, 1 killed, 1 survive" in capsys.readouterr().out
        assert place.read_text().startswith("# Mutants of the reference")


@pytest.mark.process
def test_a_hidden_test_that_fails_by_itself_is_no_kill(
    mutants: Mapping[str, Mutant], rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Callable[..., HiddenTests]:
        raise ZeroDivisionError

    monkeypatch.setattr("grader.assignment.oracle.rms_norm", broken)
    with contextlib.closing(MutantJudge(rubric)) as judge, pytest.raises(RuntimeError, match="failed by itself"):
        judge.survives(mutants[KILLED[0]])
