"""What must be the same for an earlier result to count: everything that could show in a report."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from grader import REPOSITORY
from grader.core import assignment as parts
from grader.core import settings as module
from grader.core.sandbox.limits import Level, Limits
from grader.core.settings import Conditions, Settings, conditions
from grader.examples.small.grader.assignment import ASSIGNMENT

ELSEWHERE = replace(ASSIGNMENT, folder=ASSIGNMENT.folder.parent)  # another package: more files decide
ELSEWHERE.__dict__["rubric"] = ASSIGNMENT.rubric
OTHER: dict[str, Any] = {
    "assignment": ELSEWHERE,
    "device": "cpu",
    "only": "task1",
    "seed": 1,
    "language": "zh",
    "limits": replace(Limits(), request_s=1.0),
    "required_level": Level.LANDLOCK,
    "without": ("landlock",),
}


def differing(one: Conditions, other: Conditions) -> list[str]:
    return sorted({name for name, _ in one.items() ^ other.items()})


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_each_setting_is_a_condition_but_the_command_line_and_the_language(name: str) -> None:
    """A setting that is new has to be named here; an assignment is known by what lies in its files.

    Another command line differs in nothing, so the same settings are the same conditions.
    """
    other = replace(Settings(ASSIGNMENT), **{name: OTHER.get(name, "grader grade")})
    shown = {"command": [], "language": [], "assignment": ["code and rubric"]}.get(name, [name])
    assert differing(conditions(Settings(ASSIGNMENT)), conditions(other)) == shown


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The engine and the assignment in a folder of their own, to be changed."""
    ignored = shutil.ignore_patterns("selftest", "assignment", "docs", "extras", "lab", "examples", "__pycache__")
    shutil.copytree(REPOSITORY / "grader", tmp_path / "grader", ignore=ignored)
    shutil.copytree(ASSIGNMENT.root / "ref", tmp_path / "ref")
    folder = tmp_path / "grader" / "assignment"
    shutil.copytree(ASSIGNMENT.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(parts, "PACKAGE", tmp_path / "grader")
    return Settings(replace(ASSIGNMENT, folder=folder, root=tmp_path))


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("grader/assignment/rubric.toml", False),
        ("grader/assignment/hidden/test_swiglu.py", True),
        ("grader/core/judge/compare.py", True),
        ("grader/core/results/language.py", True),
        ("grader/shared/second_device/compute.py", True),
        ("grader/shared/source_rules.py", True),
        ("grader/testing.py", True),
        ("grader/core/messages.py", True),
        ("grader/core/run/judge_process.py", True),
        ("ref/swiglu.py", True),
        ("grader/assignment/corpus/variants/wrong/swiglu.py", False),
        ("grader/core/cli/grade.py", False),
        ("grader/core/export/table.py", False),
    ],
)
def test_code_is_a_condition_where_it_decides(copied: Settings, path: str, counts: bool) -> None:
    before = conditions(copied)
    with (copied.assignment.root / path).open("a") as file:
        file.write("\n# changed\n")
    assert differing(before, conditions(copied)) == ["code and rubric"] * counts


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("[policy]\n", "[policy]\nbonus_cap = 2\n", False),
        ("points = 12", "points = 13", False),
        ('id = "swiglu_gate"', 'id = "swiglu_gates"', True),
        ('file = "src/swiglu.py"', 'file = "src/attention.py"', True),
    ],
    ids=["policy", "points", "id", "place"],
)
def test_of_the_rubric_what_decides_outcomes_is_a_condition(copied: Settings, old: str, new: str, counts: bool) -> None:
    before = conditions(copied)
    path = copied.assignment.folder / "rubric.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    changed = replace(copied, assignment=replace(copied.assignment))  # whose rubric is read anew
    assert differing(before, conditions(changed)) == ["code and rubric"] * counts
    shown = ["policy", "rubric"] if "policy" in old else ["rubric"]
    assert differing(module.view(copied), module.view(changed)) == shown


def test_a_file_that_is_new_or_renamed_counts(copied: Settings) -> None:
    before = conditions(copied)
    hidden = copied.assignment.hidden
    (hidden / "test_swiglu.py").rename(hidden / "test_renamed.py")
    assert differing(before, conditions(copied)) == ["code and rubric"]


def test_versions_and_the_machine_are_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    before = conditions(Settings(ASSIGNMENT))
    assert (before["torch"], before["python"]) == (version("torch"), sys.version.split()[0])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setattr(shutil, "which", lambda _: "/elsewhere/bwrap")
    monkeypatch.setattr(module, "DISTRIBUTIONS", ("torch", "pytest", "no-such-distribution"))
    changed = {"gpus", "bubblewrap", "pydantic", "pyseccomp", "landlockpy"}
    assert {*differing(before, conditions(Settings(ASSIGNMENT)))} == changed & {*before}


def test_gpus_are_known_by_name_and_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpus" / "0000:01:00.0").mkdir(parents=True)
    (tmp_path / "gpus" / "0000:01:00.0" / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 71\n")
    (tmp_path / "version").write_text("NVRM version: 580.1\n")
    monkeypatch.setattr(module, "GPUS", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert conditions(Settings(ASSIGNMENT))["gpus"] == "NVIDIA H200 NVRM version: 580.1"
