"""What must be the same for an earlier result to count: everything that could show in a report."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from grader import conditions as module
from grader.conditions import conditions, differing
from grader.sandbox.levels import Level
from grader.sandbox.limits import Limits
from grader.selftest.submissions import REPOSITORY
from grader.settings import Settings

OTHER: dict[str, Any] = {
    "device": "cpu",
    "only": "task1",
    "seed": 1,
    "language": "zh",
    "limits": replace(Limits(), request_s=1.0),
    "required_level": Level.LANDLOCK,
    "without": ("landlock",),
}


def test_the_same_settings_are_the_same_conditions() -> None:
    assert conditions(Settings()) == conditions(Settings())


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_each_setting_is_a_condition_but_the_command_line(name: str) -> None:
    """A setting that is new has to be named here."""
    other = replace(Settings(), **{name: OTHER.get(name, "grader grade")})
    assert differing(conditions(Settings()), conditions(other)) == ([] if name == "command" else [name])


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, to be changed."""
    for name in ("grader", "ref"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("selftest", "__pycache__"))
    monkeypatch.setattr(module, "HERE", tmp_path / "grader")
    monkeypatch.setattr(module, "reference_paths", lambda: sorted((tmp_path / "ref").rglob("*.py")))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("grader/rubric.toml", True),
        ("grader/hidden/test_norm.py", True),
        ("grader/judge/compare.py", True),
        ("grader/results/advice.py", True),
        ("ref/modeling/norm.py", True),
        ("grader/cli/grade.py", False),
        ("grader/export/moodle.py", False),
    ],
)
def test_code_is_a_condition_where_it_decides(copy: Path, path: str, counts: bool) -> None:
    before = conditions(Settings())
    with (copy / path).open("a") as file:
        file.write("\n# changed\n")
    assert differing(before, conditions(Settings())) == ["code and rubric"] * counts


def test_a_file_that_is_new_or_renamed_counts(copy: Path) -> None:
    before = conditions(Settings())
    hidden = copy / "grader" / "hidden"
    (hidden / "test_norm.py").rename(hidden / "test_renamed.py")
    assert differing(before, conditions(Settings())) == ["code and rubric"]


def test_versions_and_the_machine_are_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    before = conditions(Settings())
    assert (before["torch"], before["python"]) == (version("torch"), sys.version.split()[0])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setattr(shutil, "which", lambda _: "/elsewhere/bwrap")
    monkeypatch.setattr(module, "DISTRIBUTIONS", ("torch", "pytest", "no-such-distribution"))
    changed = {"gpus", "bubblewrap", "pydantic", "pyseccomp", "landlockpy"}
    assert {*differing(before, conditions(Settings()))} == changed & {*before}


def test_gpus_are_known_by_name_and_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpus" / "0000:01:00.0").mkdir(parents=True)
    (tmp_path / "gpus" / "0000:01:00.0" / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 71\n")
    (tmp_path / "version").write_text("NVRM version: 580.1\n")
    monkeypatch.setattr(module, "GPUS", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert conditions(Settings())["gpus"] == "NVIDIA H200 NVRM version: 580.1"
