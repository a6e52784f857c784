"""Right submissions in many styles meet the contract by an oracle of their own, and keep all points.

By default a sample; ``GRADER_ALL_STYLES=1`` takes them all, which compiles some of them and takes minutes.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.styles import COMBINATIONS, PIECES, files, style
from grader.assignment.selftest import style_oracle
from grader.lab.verify import rounds, variants
from grader.specimens.styles import Style

ALL = os.environ.get("GRADER_ALL_STYLES") == "1"
STYLES = [style(number) for number in range(COMBINATIONS)]
QUICK = [one for one in STYLES if not any("compiled" in option for option in one.options)]
SAMPLE = STYLES if ALL else QUICK[:: len(QUICK) // 9]


@pytest.fixture(autouse=True)
def work_in_progress() -> Iterator[None]:
    """A style may warn when it is imported."""
    with warnings.catch_warnings(action="ignore"):
        yield


@pytest.mark.parametrize("one", SAMPLE, ids=lambda one: one.name)
def test_a_style_meets_the_contract_and_keeps_all_points(one: Style, tmp_path: Path) -> None:
    torch.manual_seed(one.number)
    with style_oracle.imported(one, tmp_path) as names:
        style_oracle.check(names)
    assert variants.judge_style(ASSIGNMENT, one.number, "this process").problem == ""


@pytest.mark.parametrize("name", [name for task in ASSIGNMENT.rubric.tasks for name in task.names])
def test_the_oracle_sees_a_piece_that_is_wrong(name: str, tmp_path: Path) -> None:
    with style_oracle.imported(SAMPLE[0], tmp_path) as names:
        right: Any = names[name]
        if name == "apply_rotary_pos_emb":
            names[name] = lambda input, cos, sin: right(input, cos, -sin)
        else:
            names[name] = type(name, (right,), {"forward": lambda self, input: right.forward(self, input) * 1.05})
        with pytest.raises(AssertionError, match=r"off by|wrong rows"):
            style_oracle.check(names)


def test_all_combinations_differ_and_have_every_option() -> None:
    assert len({tuple(sorted(one.files.items())) for one in STYLES}) == COMBINATIONS
    axes = {f"{piece} {axis}": options for piece, part in PIECES.items() for axis, options in part.AXES.items()}
    known = {f"{axis}: {name}" for axis, options in {**axes, "files style": files.STYLES}.items() for name in options}
    assert {option for one in STYLES for option in one.options} == known


def test_a_seed_has_a_sample_of_its_own_and_a_flag_takes_every_one() -> None:
    first, second = (set(variants.style_numbers(ASSIGNMENT, [seed], every=False)) for seed in (0, 1))
    assert (len(first), len(second), first & second) == (variants.SAMPLE, variants.SAMPLE, set())
    last = rounds(ASSIGNMENT, [0], all_styles=True)[-1]
    assert {item[1:] for item in last.items} == {(n, way) for n in range(COMBINATIONS) for way in variants.WAYS}


@pytest.mark.process
def test_a_style_is_graded_in_a_worker() -> None:
    assert variants.judge_style(ASSIGNMENT, SAMPLE[0].number, "a process only").problem == ""


def test_a_style_that_loses_points_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        path: text.replace(b"group_size, eps\n", b"group_size, 2 * eps\n") for path, text in QUICK[0].files.items()
    }
    monkeypatch.setattr(ASSIGNMENT.part("corpus.styles"), "style", lambda _: replace(QUICK[0], files=files))
    verdict = variants.judge_style(ASSIGNMENT, 0, "this process")
    assert "norm_eps_inside_sqrt" in verdict.lost
    assert "norm_eps_inside_sqrt failed, " in verdict.problem
