"""``make submit``: a look over what is there, and a zip that the grader takes as it is."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from grader.grading import reference_files
from grader.intake.discover import discover
from grader.intake.submission import EXPECTED
from grader.selftest.submissions import handed_out, run, write_folder

NORM = "src/modeling/norm.py"


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """A student's folder with everything done."""
    return write_folder(handed_out(tmp_path / "a2"), reference_files())


def test_the_zip_is_what_the_grader_takes(solved: Path) -> None:
    write_folder(solved, {"src/modeling/helper.py": "ONE = 1\n", "src/notes.txt": "no Python"})
    result = run(solved, "tests.submit")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("✓") == 4
    assert "submission.zip holds 7 files of src/ (3 beside those above)" in result.stdout
    (candidate,) = discover([solved / "submission.zip"])
    submission = candidate.read()
    assert submission.files == {**reference_files(), "src/modeling/helper.py": "ONE = 1\n"}
    assert submission.notices == ()


def test_the_same_work_gives_the_same_bytes(solved: Path) -> None:
    run(solved, "tests.submit")
    first = (solved / "submission.zip").read_bytes()
    (solved / NORM).touch()
    run(solved, "tests.submit", "--out", "again.zip", "--lang", "zh")
    assert (solved / "again.zip").read_bytes() == first


def test_what_is_still_to_write_is_named_and_may_be_handed_in(tmp_path: Path) -> None:
    result = run(handed_out(tmp_path / "a2"), "tests.submit")
    assert result.returncode == 0
    assert "still to write, line" in result.stdout
    assert "✓" not in result.stdout


TROUBLES: tuple[dict[str | None, str], ...] = (  # what is in the four files, and what is said of each
    {
        None: "this file is missing",
        "def broken(:\n": "SyntaxError: invalid syntax ({file}:1)",
        "import torch\n\nx = 1 / 0\n": "ZeroDivisionError: division by zero ({file}:3)",
        "class Another: ...\n": "is not defined in it",
    },
    {
        "from .nowhere import thing\n": "nowhere.py",
        "raise SystemExit(0)\n": "this file ends the program when it is imported",
        "# " + "x" * (1 << 20): "larger than 1 MiB",
        "\0": "null bytes",
    },
    {"import os\nos._exit(0)\n": "this file ends the program when it is imported"},
)


@pytest.mark.parametrize("troubles", TROUBLES, ids=["at_import", "odd", "exits_at_once"])
def test_what_would_cost_a_task_is_said_before_anything_is_packed(
    solved: Path, troubles: dict[str | None, str]
) -> None:
    said = dict(zip(EXPECTED, troubles.values(), strict=False))
    for file, text in zip(EXPECTED, troubles, strict=False):
        (solved / file).unlink() if text is None else (solved / file).write_text(text)
    result = run(solved, "tests.submit")
    assert result.returncode == 1
    for file, complaint in said.items():
        (line,) = [line for line in result.stdout.splitlines() if "✗" in line and f" {file} " in line]
        assert complaint.format(file=file) in line
    assert "make submit ANYWAY=1" in result.stdout
    assert not (solved / "submission.zip").exists()


def test_a_broken_file_can_be_handed_in_for_the_sake_of_the_others(solved: Path) -> None:
    (solved / NORM).write_text("def broken(:\n")
    result = run(solved, "tests.submit", "--anyway")
    assert result.returncode == 0
    with zipfile.ZipFile(solved / "submission.zip") as archive:
        assert archive.read(NORM) == b"def broken(:\n"


def test_a_place_that_cannot_be_written_to_is_named(solved: Path) -> None:
    result = run(solved, "tests.submit", "--out", "nowhere/submission.zip")
    assert result.returncode == 2
    assert result.stdout.splitlines()[-1] == "nowhere/submission.zip: No such file or directory"


def test_packages_that_may_be_missing_when_it_is_graded_are_named(solved: Path) -> None:
    write_folder(solved, {"src/helper.py": "import os.path\nimport pytest\nfrom torch import nn\nfrom .a import b\n"})
    result = run(solved, "tests.submit")
    assert result.returncode == 0
    assert "Your code imports pytest. Only Python and torch are sure to be there when it is graded." in result.stdout
