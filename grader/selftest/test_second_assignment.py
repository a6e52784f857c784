"""Another assignment of this repository: laid over a copy as CONTRIBUTING says, everything works there as it is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.selftest.warm import WarmPython

pytestmark = pytest.mark.slow  # nine commands

COMMANDS = re.compile(r"git clone REPOSITORY course && cd course\n(.*?)```", re.DOTALL)
LEFT_OUT = ("grader/selftest", ".venv")  # the commands below need nothing of these
FULL, BONUS = 100, 20

Done = Callable[..., str]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository after the commands of CONTRIBUTING, "A new assignment in an hour"."""
    folder = tmp_path_factory.mktemp("second") / "course"
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in listed:
        if name.startswith(LEFT_OUT) or not (REPOSITORY / name).exists():
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # With its time, so that what is compiled counts there; a link stays one, as in a clone.
        shutil.copy2(REPOSITORY / name, target, follow_symlinks=False)
        if name.endswith(".py") and (compiled := Path(cache_from_source(str(REPOSITORY / name)))).is_file():
            Path(cache_from_source(str(target))).parent.mkdir(exist_ok=True)
            shutil.copy(compiled, cache_from_source(str(target)))
    commands = COMMANDS.search((folder / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert commands
    subprocess.run(["bash", "-e", "-c", commands[1]], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def done(run: WarmPython) -> Done:
    """``done(course, "grader", "report")``: what that command prints, which ends well."""

    def end_well(course: Path, *arguments: str) -> str:
        ended = run(course, *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    return end_well


@pytest.fixture(scope="module")
def graded(course: Path, done: Done) -> Path:
    """The sample class, graded, with its pages: what ``make grade`` does."""
    done(course, "grader.lab.sample_class", "build/class")
    done(course, "grader", "grade", "build/class", "--out", "build/reports", "--jobs", "1", "--lang", "en")
    done(course, "grader", "report", "build/reports", "--lang", "en")
    return course / "build" / "reports"


def test_stubs_earn_nothing_in_the_public_tests_and_the_reference_everything(
    course: Path, run: WarmPython, done: Done, tmp_path: Path
) -> None:
    stubs = run(course, "tests")
    assert (stubs.returncode, stubs.stderr) == (0, "")  # nothing is wrong while only TODOs are left
    assert "\u2713" not in stubs.stdout
    assert stubs.stdout.count("TODO") == 5
    solved = tmp_path / "solved"
    shutil.copytree(course / "tests", solved / "tests")
    shutil.copytree(course / "ref", solved / "src")
    shutil.copy(course / "grader" / "assignment" / "rubric.toml", solved / "tests" / "harness")
    assert f"{FULL} / {FULL}" in done(solved, "tests")


def test_the_engine_speaks_chinese_without_the_table_of_the_assignment_it_came_with(course: Path, done: Done) -> None:
    assert done(course, "grader.lab.missing") == ""


def test_a_bundle_without_notebooks_is_released(course: Path, done: Done) -> None:
    """Nothing in it is a secret, although no notebook shows what the public tests share with the grader."""
    done(course, "grader.lab.signatures", "--jobs", "1")
    (course / "build" / "handout").mkdir(exist_ok=True)
    assert "small-attention-swiglu.zip" in done(course, "grader", "release", "build/release")


def test_the_sample_class_is_graded(graded: Path) -> None:
    lines = json.loads((graded / "summary.json").read_text())["submissions"]
    points = {line["id"]: (line["score"], line["bonus"], line["max_score"], line["max_bonus"]) for line in lines}
    assert points == {"ada": (100, 20, FULL, BONUS), "bo": (0, 0, FULL, BONUS), "cleo": (70, 0, FULL, BONUS)}


def test_pages_speak_of_this_assignment_alone(course: Path, graded: Path, done: Done) -> None:
    done(course, "grader", "report", "build/reports", "--out", "build/chinese", "--lang", "zh")
    pages = [*(graded / "html").rglob("*.html"), *(course / "build" / "chinese").rglob("*.html")]
    assert len(pages) == 2 * (1 + 3)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "RMSNorm" not in text
        assert "SwiGLU" in text
