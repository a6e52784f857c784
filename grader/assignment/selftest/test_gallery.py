"""The page of what students read is written whole, in both languages, and says when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.core.judge.judge import Judge
from grader.lab import gallery
from grader.selftest.submissions import submission

pytestmark = pytest.mark.process

NAME = "wrong.norm_groups.sums_the_squares"


def test_a_variant_that_could_not_be_graded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], grader: Judge
) -> None:
    monkeypatch.setattr(gallery, "graded", lambda variants, _: {n: grader.give_up(n, "no memory") for n in variants})
    assert gallery.main(["--out", str(tmp_path / "gallery.html"), NAME]) == 1
    assert f"{NAME}: grader_error: no memory" in capsys.readouterr().out


def test_a_blind_test_hides_what_the_mistakes_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], grader: Judge
) -> None:
    monkeypatch.setattr(
        gallery, "graded", lambda variants, _: {n: grader.grade(submission(v.files, n)) for n, v in variants.items()}
    )
    chosen = ["--blind", "2", "--seed", "3", "wrong.rotary"]
    assert gallery.main(["--out", str(tmp_path / "gallery.html"), *chosen]) == 0
    questions, answers = ((tmp_path / name).read_text() for name in ("gallery.html", "gallery.answers.txt"))
    assert str(tmp_path / "gallery.html") in capsys.readouterr().out
    names = [line.split()[1].rstrip(":").rpartition(".")[2] for line in answers.splitlines()]
    assert len(names) == 2
    assert not any(name in questions for name in names)
    assert "<details" not in questions
    assert questions.count("✗ ") >= questions.count("<article") == 2
