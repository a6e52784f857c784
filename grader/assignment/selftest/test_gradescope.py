"""The autograder zip works where nothing else of this repository is, and writes results whatever happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.intake.origin import Origin, Student
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.settings import Settings
from grader.extras.gradescope import run as autograder
from grader.selftest import term
from grader.selftest.submissions import edited, write_folder

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("reads_here")]

NORM = "src/modeling/norm.py"
METADATA = {
    "id": 5,
    "created_at": "2026-10-02T23:00:00.365935-07:00",
    "users": [{"email": "ada@x", "id": 1, "name": "王 Ada\n", "sid": "007"}],
    "assignment": {"due_date": "2026-10-02T22:00:00.000000-07:00", "title": "A2"},
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("autograder")
    term.run("gradescope", folder)
    return folder / "autograder.zip"


@pytest.fixture
def root(tmp_path: Path, packed: Path) -> Path:
    """A folder laid out as Gradescope lays out ``/autograder``."""
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "autograder" / "source")  # our own zip
    (tmp_path / "autograder" / "results").mkdir()
    return write_folder(tmp_path / "autograder", {"submission_metadata.json": json.dumps(METADATA)})


def run(root: Path, **environment: str) -> tuple[dict[str, Any], str]:
    script = root / "source" / "run_autograder"
    variables = {"AUTOGRADER_ROOT": str(root), "AUTOGRADER_PYTHON": sys.executable, "PATH": os.environ["PATH"]}
    command = ["bash", str(script)]
    done = subprocess.run(
        command, cwd=root, env=variables | environment, capture_output=True, text=True, timeout=120, check=False
    )
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8")), done.stdout + done.stderr


def test_scripts_lie_at_the_root_and_can_be_executed(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    read = ("grader/extras/gradescope/run.py", "grader/assignment/rubric.toml", "ref/modeling/norm.py")
    assert {modes[name] for name in read} == {0o644}
    assert not [name for name in modes if re.search(r"selftest|__pycache__|notebooks|\.pyc", name)]


def test_the_same_repository_gives_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    term.run("gradescope", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_a_submission_is_graded_in_a_clean_place(root: Path) -> None:
    write_folder(root / "submission", edited((NORM, "mean_square + self.eps", "mean_square"), of=ASSIGNMENT))
    results, output = run(root)
    assert (results["score"], len(results["tests"])) == (145, len(ASSIGNMENT.rubric.properties) + 1), output
    assert [test["name"] for test in results["tests"] if test.get("status") == "failed"] == [
        "GroupRMSNorm: eps is added inside the square root"
    ]
    assert results["extra_data"]["status"] == "graded"


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false"], ids=["missing", "failing"])
def test_a_python_that_does_not_start_still_leaves_results(root: Path, python: str) -> None:
    (root / "results" / "results.json").write_text('{"score": 100}')  # of whoever was there before
    results, _ = run(root, AUTOGRADER_PYTHON=python)
    assert results.keys() == {"output", "visibility", "stdout_visibility", "extra_data"}
    assert results["extra_data"] == {"status": "grader_error"}


def test_nothing_to_grade_is_said_and_has_no_score(
    tmp_path: Path, grader: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grade_all(submissions: list[Submission], *_: object) -> Any:
        yield from map(grader.grade, submissions)

    monkeypatch.setattr(autograder, "grade_all", grade_all)
    write_folder(tmp_path, {"submission/notes.txt": "x"})
    assert autograder.main(tmp_path, ASSIGNMENT) == 0
    results = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert results["output"].startswith("None of src/functional.py")
    assert results["score"] == 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Judges that fail; the list has the seeds with which they were asked to grade."""
    seeds: list[int] = []

    def grade_all(_: object, settings: Settings, *__: object) -> Any:
        seeds.append(settings.seed)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(autograder, "grade_all", grade_all)
    return seeds


def test_a_years_seed_reaches_the_grading(root: Path, tmp_path: Path, asked: list[int]) -> None:
    """The script passes it on, also to a Python that only prints its arguments."""
    term.run("gradescope", tmp_path / "year.zip", "--seed", "2026")
    with zipfile.ZipFile(tmp_path / "year.zip") as archive:
        archive.extract("run_autograder", root / "source")
    assert run(root, AUTOGRADER_PYTHON="/bin/echo")[1].split()[-2:] == [str(root), "2026"]
    autograder.main(root, ASSIGNMENT, 2026)
    assert asked == [2026]


@pytest.mark.usefixtures("asked")
def test_an_exception_is_a_fault_of_ours(tmp_path: Path) -> None:
    assert autograder.main(tmp_path, ASSIGNMENT) == 3
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    assert results["extra_data"]["reason"] == "OSError: [Errno 28] No space left on device"


def test_who_and_when_come_from_gradescope(tmp_path: Path) -> None:
    path = write_folder(tmp_path, {"metadata.json": json.dumps(METADATA)}) / "metadata.json"
    ada = Student(id="007", name="王 Ada", email="ada@x")
    moment = "2026-10-02T23:00:00-07:00"
    assert autograder.origin(path) == Origin(source="gradescope", students=(ada,), late=True, submitted_at=moment)


@pytest.mark.parametrize(
    "metadata",
    [{}, [], {**METADATA, "created_at": "soon"}, {**METADATA, "users": 7}, {**METADATA, "assignment": None}],
    ids=["empty", "list", "no_time", "no_users", "no_assignment"],
)
def test_metadata_of_another_kind_cost_nobody_anything(tmp_path: Path, metadata: Mapping[str, Any]) -> None:
    assert autograder.origin(write_folder(tmp_path, {"x.json": json.dumps(metadata)}) / "x.json") is None
    assert autograder.origin(tmp_path / "gone.json") is None


def test_set_up_installs_what_the_project_pins() -> None:
    """As the Makefile does: torch by itself at the version of the project, the rest by the lock."""
    path = REPOSITORY / "grader" / "extras" / "gradescope" / "setup.sh"
    subprocess.run(["bash", "-n", str(path)], check=True, timeout=10)
    script = path.read_text()
    assert script.startswith("#!/usr/bin/env bash\n")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    torch = next(need for need in project["dependencies"] if need.startswith("torch"))
    assert f'"{torch}"' in script
    assert '-c requirements.lock -e ".[grader]"' in script
    locked = {line.partition("==")[0] for line in (REPOSITORY / "requirements.lock").read_text().splitlines()}
    needed = {re.split(r"[<>=; ]", need)[0] for need in project["optional-dependencies"]["grader"]}
    assert needed <= locked
