"""The tests that students run: they say TODO to untouched stubs, and nothing but yes to the reference."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader.grading import reference_files
from grader.selftest.submissions import handed_out, run, write_folder


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it is handed out."""
    return handed_out(tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with the reference's files over the stubs."""
    return write_folder(handed_out(tmp_path_factory.mktemp("solved")), reference_files())


def test_untouched_stubs_are_all_to_do(untouched: Path) -> None:
    result = run(untouched, "tests")
    lines = result.stdout.splitlines()
    assert result.returncode == 1, result.stderr
    assert sum(line.startswith("  TODO") for line in lines) == 32  # every property of the rubric
    assert not any("✓" in line or "✗" in line for line in lines)
    assert any(line.split()[-3:] == ["0", "/", "100"] for line in lines)


def test_the_reference_passes_everything(solved: Path) -> None:
    result = run(solved, "tests", "--lang", "zh")
    assert result.returncode == 0, result.stdout
    assert sum(line.startswith("  ✓") for line in result.stdout.splitlines()) == 32
    assert "100 / 100" in result.stdout
    assert "50 / 50" in result.stdout
    assert "每一组除以该组自己的均方根" in result.stdout


def test_one_task_can_be_run_alone(solved: Path) -> None:
    result = run(solved, "tests", "--task", "1")
    assert result.returncode == 0, result.stdout
    assert "42 / 42" in result.stdout
    assert "VocabEmbedding" not in result.stdout


def test_a_mistake_is_explained_and_ends_with_1(solved: Path, tmp_path: Path) -> None:
    mistaken = shutil.copytree(solved, tmp_path / "mistaken")
    norm = mistaken / "src" / "modeling" / "norm.py"
    norm.write_text(norm.read_text().replace("mean_square + self.eps", "mean_square"))
    write_folder(mistaken, {"handout/en/task1.html": ""})
    result = run(mistaken, "tests", "--task", "1")
    assert result.returncode == 1
    assert re.search(r"^ +read +handout/en/task1.html#norm_eps_inside_sqrt$", result.stdout, re.MULTILINE)
    assert "✗ eps is added inside the square root" in result.stdout
    assert "36 / 42" in result.stdout


def test_plain_pytest_works_too(solved: Path, untouched: Path) -> None:
    assert run(solved, "pytest", "-q", "tests").returncode == 0
    failed = run(untouched, "pytest", "-q", "tests", "-x")
    assert failed.returncode == 1
    assert "NotImplementedError: Task" in failed.stdout
