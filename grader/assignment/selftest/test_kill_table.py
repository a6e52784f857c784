"""A2's variants and attacks are what the documents say, are graded with and without --plain, and stand on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from grader.assignment import ASSIGNMENT
from grader.core.judge.judge import Judge
from grader.core.rubric import Rubric
from grader.lab import charges, gallery
from grader.lab.verify import attacks, both_ways, variants
from grader.selftest.fixtures import RunHiddenTests
from grader.selftest.submissions import submission

DOCS = ASSIGNMENT.root / "grader" / "docs"


@pytest.mark.slow
def test_every_task_is_judged_on_every_dtype(judge: RunHiddenTests, rubric: Rubric) -> None:
    """Not every property: a law is judged in float32, and what 16 bits make of it has a property of its own."""
    tokens: dict[str, set[str]] = {}
    for result in judge(ASSIGNMENT.solution()):
        names = (token.removeprefix("gamma_") for token in result.id.split("-"))
        tokens.setdefault(rubric.task_of(result.property_id).id, set()).update(names)
    assert all(tokens[task.id] >= set(variants.ALL_DTYPES) for task in rubric.tasks), tokens


@pytest.mark.slow
def test_a_variant_that_draws_is_judged_the_same_every_time() -> None:
    name = "wrong.norm_eps_and_gamma.gamma_drawn_again_at_every_call"
    first = variants.judge(ASSIGNMENT, name, 0)
    assert first.margin
    assert variants.judge(ASSIGNMENT, name, 0) == first


def test_the_threat_model_names_attacks_that_exist_and_some_of_every_kind() -> None:
    text = (DOCS / "threat-model.md").read_text(encoding="utf-8")
    kinds = {name.partition(".")[0] for name in attacks.known(ASSIGNMENT)}
    named = {name for name in re.findall(r"`([a-z]+\.[a-z_]+)`", text) if name.partition(".")[0] in kinds}
    assert named <= set(attacks.known(ASSIGNMENT))
    assert {name.partition(".")[0] for name in named} == kinds


@pytest.mark.process
def test_everything_is_graded_ahead_and_plainly() -> None:
    items = {(name, seed) for _, name, seed in both_ways.items(ASSIGNMENT, range(2))}
    for seed in (0, 1):
        names = {name for name, drawn in items if drawn == seed}
        assert names >= {variants.REFERENCE, variants.STUBS, "ada", "bo", *variants.known(ASSIGNMENT)}
    assert items >= {(name, 0) for name in attacks.known(ASSIGNMENT)}


NAME = "wrong.norm_groups.sums_the_squares"


def test_a_variant_that_could_not_be_graded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], grader: Judge
) -> None:
    monkeypatch.setattr(gallery, "graded", lambda variants, _: {n: grader.give_up(n, "no memory") for n in variants})
    with pytest.raises(typer.Exit) as ended:
        gallery.main([NAME], tmp_path / "gallery.html")
    assert ended.value.exit_code == 1
    assert f"{NAME}: grader_error: no memory" in capsys.readouterr().out


def test_a_choice_that_fits_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="no wrong variant's name starts with nothing"):
        gallery.main(["nothing"], tmp_path / "gallery.html")
    assert not (tmp_path / "gallery.html").exists()
    with pytest.raises(typer.BadParameter, match="no submission is of that KIND"):
        charges.main(["slips"], task="task9")


def test_a_blind_test_hides_what_the_mistakes_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], grader: Judge
) -> None:
    monkeypatch.setattr(
        gallery, "graded", lambda variants, _: {n: grader.grade(submission(v.files, n)) for n, v in variants.items()}
    )
    with pytest.raises(typer.Exit) as ended:
        gallery.main(["wrong.rotary"], tmp_path / "gallery.html", blind=2, seed=3)
    assert ended.value.exit_code == 0
    questions, answers = ((tmp_path / name).read_text() for name in ("gallery.html", "gallery.answers.txt"))
    assert str(tmp_path / "gallery.html") in capsys.readouterr().out
    names = [line.split()[1].rstrip(":").rpartition(".")[2] for line in answers.splitlines()]
    assert len(names) == 2
    assert not any(name in questions for name in names)
    assert "<details" not in questions
    assert questions.count("✗ ") >= questions.count("<article") == 2
