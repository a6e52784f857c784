"""nbgrader's whole cycle on a small class: full marks, no marks, and what must not pass for a zero."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.core.results.outcome import Outcome
from grader.lab.site.notebooks import course, release, sources
from grader.lab.site.notebooks.grade import Check, grade
from grader.selftest.small_notebook import NAME, blank, cell, reference, small_walkthrough
from grader.selftest.submissions import write_folder, zipped

pytestmark = pytest.mark.process

ALL = pytest.mark.skipif(
    not os.environ.get("ALL_NOTEBOOKS"), reason="takes minutes: set ALL_NOTEBOOKS=1 to run every notebook"
)


PRINTED = '"outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}]'
ENDLESS = "import time\n\ndef double(x):\n    while True:\n        time.sleep(1)"
NOISY = """import sys
import warnings


def double(x):
    warnings.warn("slow")
    print("working", file=sys.stderr)
    return x + x
"""


def answered(**answers: str) -> NotebookNode:
    """The reference with other answers, by exercise."""
    notebook = reference()
    for exercise, answer in answers.items():
        cell(notebook, exercise).source = answer
    return notebook


def without(grade_id: str) -> NotebookNode:
    notebook = reference()
    notebook.cells.remove(cell(notebook, grade_id))
    return notebook


def forged(notebook: NotebookNode) -> NotebookNode:
    """One that asks for more points, in a format that makes nbgrader stop grading anyone."""
    for one in notebook.cells:
        if "nbgrader" in one.metadata:
            one.metadata.nbgrader.update(schema_version=1, points=1000)
    return notebook


class Graded:
    """The class, graded."""

    def __init__(self, folder: Path) -> None:
        """Grade whatever is handed in by the students below."""
        work, self.out = folder / "work", folder / "out"
        self.release, self.built = self.out / course.RELEASE, self.out / course.SOURCE
        notebooks = {
            "blank/0_small": blank(reference()),
            "dead/0_small": answered(double="import os\nos._exit(1)"),
            "deleted/0_small": without("double_laws"),
            "endless/0_small": answered(double=ENDLESS),
            "forged [a], O'Neil/0_small": forged(answered(triple="def triple(x):\n    return x")),
            "hard-coded/0_small": answered(
                double="def double(x):\n    return 2", triple="def triple(x):\n    return x / 0"
            ),
            "renamed/0_small (1)": reference(),
        }
        write_folder(work, {f"{path}.ipynb": nbformat.writes(notebook) for path, notebook in notebooks.items()})
        write_folder(work, {"torn/0_small.ipynb": b"\xff{", "broken.zip": b"PK"})
        write_folder(work, {"ada.zip": zipped({"homework/0_small.ipynb": nbformat.writes(answered(double=NOISY))})})
        (work / "nothing").mkdir()
        self.said: list[str] = []
        self.checks = grade(work, self.out, say=self.said.append, uncontained=True)

    def of(self, student: str) -> dict[str, Check]:
        """A student's checks, by cell."""
        return {check.cell: check for check in self.checks if check.student == student}

    def points(self, student: str) -> list[float | None]:
        """A student's points, check by check."""
        return [check.points for check in self.of(student).values()]

    def score(self, student: str) -> str:
        """What the gradebook file says."""
        with (self.out / "grades.csv").open(encoding="utf-8", newline="") as file:
            return next(row["score"] for row in csv.DictReader(file) if row["student_id"] == student)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    """One cycle for all tests here: it takes most of a minute. A cell has 20 seconds, in place of 300."""
    folder = tmp_path_factory.mktemp("class")
    hasty = folder / course.CONFIG.name
    hasty.write_text(course.CONFIG.read_text(encoding="utf-8").replace("timeout = 300", "timeout = 20"))
    with pytest.MonkeyPatch.context() as patch, small_walkthrough(folder / "source"):
        patch.setattr(course, "CONFIG", hasty)
        yield Graded(folder)


# By what is shown: who handed it in, the points of both checks, the score in the gradebook file, what became of the
# first check, and how its message begins.
ENDED: dict[str, tuple[str, list[float | None], str, Outcome, str]] = {
    "right answers earn full marks, here in a zip, whatever they warn of": ("ada", [2, 1], "3", Outcome.PASSED, ""),
    "a blank notebook earns nothing": ("blank", [0, 0], "0", Outcome.NOT_IMPLEMENTED, ""),
    "hidden tests see more": ("hard-coded", [0, 0], "0", Outcome.FAILED, "AssertionError: Texts double too."),
    "a dead kernel is no zero": ("dead", [None, None], "", Outcome.CRASHED, ""),
    "an endless loop took too long": ("endless", [0, 1], "1", Outcome.TIMED_OUT, "took too long"),
    "a deleted check is no zero": ("deleted", [None, 1], "", Outcome.MISSING, "the checking cell was deleted"),
    "a renamed one is no zero": ("renamed", [None, None], "", Outcome.MISSING, "no 0_small.ipynb, but 0_small (1)"),
    "metadata of one's own change nothing": ("forged_a_O_Neil", [2, 0], "2", Outcome.PASSED, ""),
}


@pytest.mark.parametrize(("student", "points", "score", "outcome", "said"), ENDED.values(), ids=ENDED)
def test_each_student_gets_what_is_deserved(
    graded: Graded, student: str, points: list[float | None], score: str, outcome: Outcome, said: str
) -> None:
    assert (graded.points(student), graded.score(student)) == (points, score)
    check = graded.of(student)["double_laws"]
    assert (check.outcome, check.message[: len(said)]) == (outcome, said)
    assert {check.max_points for check in graded.of(student).values()} == {2, 1}


def test_an_exception_costs_its_exercise(graded: Graded) -> None:
    check = graded.of("hard-coded")["triple_laws"]
    assert (check.outcome, check.message) == (Outcome.CRASHED, "ZeroDivisionError: division by zero")


@pytest.mark.parametrize("student", ["torn", "broken"], ids=["notebook", "zip"])
def test_what_cannot_be_read_is_no_zero(graded: Graded, student: str) -> None:
    assert graded.points(student) == [None, None]
    assert graded.of(student)["double_laws"].message


def test_nothing_handed_in_is_a_zero(graded: Graded) -> None:
    assert graded.points("nothing") == [0, 0]
    assert graded.score("nothing") == "0"


def test_every_student_gets_feedback(graded: Graded) -> None:
    page = graded.out / "feedback" / "ada" / course.HOMEWORK / f"{NAME}.html"
    assert "double_laws" in page.read_text(encoding="utf-8")
    assert graded.said[-1].startswith("[1/1] 0_small: ")


def test_the_release_gives_nothing_away(graded: Graded) -> None:
    assert [*release.leaks(graded.release, graded.built)] == []
    text = (graded.release / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in text
    assert "One and one make two." in text


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        (f"{NAME}.ipynb", "# TODO", "return x + x", "holds the secret line 'return x + x'"),
        (f"{NAME}.ipynb", "# TODO", "### BEGIN SOLUTION", "holds the marker '### BEGIN SOLUTION'"),
        (f"{NAME}.ipynb", '"name": "python3"', '"name": "assert triple(2) == 6, \\"Three twos make six.\\""', "secret"),
        (f"{NAME}.ipynb", '"outputs": []', PRINTED, "holds outputs"),
        ("checks.py", "import io", "import io\nreturn x + x + x", "holds the secret line 'return x + x + x'"),
        ("gradebook.db", "", "", "gradebook.db: is not a notebook"),
    ],
    ids=["solution", "marker", "metadata", "outputs", "module", "database"],
)
def test_every_leak_is_found(graded: Graded, tmp_path: Path, name: str, old: str, new: str, found: str) -> None:
    tampered = tmp_path / "release"
    shutil.copytree(graded.release, tampered)
    path = tampered / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert any(found in line for line in release.leaks(tampered, graded.built))


def test_a_notebook_that_is_not_released_is_missed(graded: Graded, tmp_path: Path) -> None:
    assert f"{NAME}.ipynb: is missing" in release.leaks(tmp_path, graded.built)


def test_a_failing_nbgrader_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "NBGRADER", (sys.executable, "-c", "raise SystemExit('no such cell')"))
    with pytest.raises(course.NbgraderFailed, match=r"^nbgrader autograde exited with 1: no such cell \(more in .*\)$"):
        course.run(tmp_path, "autograde")


@ALL
@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_every_notebook_gives_full_marks_or_none(tmp_path: Path, language: str) -> None:
    course.prepare(language, tmp_path / "course")
    work = tmp_path / "work"
    shutil.copytree(tmp_path / "course" / course.SOURCE, work / "reference")
    shutil.copytree(tmp_path / "course" / course.RELEASE, work / "blank")
    checks = grade(work, tmp_path / "out", language, uncontained=True)
    assert {check.student for check in checks} == {"reference", "blank"}
    wrong = [check for check in checks if check.points != (check.max_points if check.student == "reference" else 0)]
    assert wrong == []
    assert [*release.leaks(work / "blank", work / "reference")] == []
