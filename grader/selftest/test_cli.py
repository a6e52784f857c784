"""The command line: one line for each mistake, with value and remedy, and exit codes that scripts can trust."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

from grader import __main__ as cli
from grader import __version__
from grader.core.cli import grade
from grader.core.judge.judge import Judge
from grader.core.results.database import LEDGER
from grader.core.results.outcome import Outcome
from grader.core.results.report import Practice, Report, Summary
from grader.core.results.written import SOURCES
from grader.core.settings import Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import SEES_LATER_TOKENS, edited, write_folder
from grader.selftest.term import command, refused, run

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("reads_here")]


@pytest.fixture
def ada(tmp_path: Path) -> Path:
    """A submission that is right."""
    return write_folder(tmp_path / "ada", ASSIGNMENT.solution())


@pytest.fixture
def in_process(grader: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grading without judge processes."""
    monkeypatch.setattr(grade, "grade_all", lambda submissions, *_: (grader.grade(one) for one in submissions))


def test_the_path_from_the_deadline_to_the_students_has_a_heading_of_its_own() -> None:
    everyday = [one.name for one in cli.app.registered_commands if one.rich_help_panel == "Every day"]
    assert everyday == ["grade", "review", "export", "return"]


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("gone",), "gone: no such file or folder. Give a submission"),
        (("ada", "--out", "file/out"), "file/out: Not a directory. Choose a writable folder."),
        (("ada", "--only", "task9"), "--only task9: no such task. Choose one of task1, task2."),
        (("ada", "--lang", "fr"), "--lang fr: not a language of the rubric. Choose one of en, zh."),
        (("ada", "--from", "excel"), "--from excel: not a source. Choose one of gradescope, moodle, canvas, "),
        (("ada", "--roster", "gone.csv"), "gone.csv: No such file or directory. Give a CSV with a column"),
        (("ada", "--without", "walls"), "--without walls: no such layer. Choose one of namespaces, user, landlock,"),
        (("ada", "--notebooks", "gone.csv"), "--notebooks gone.csv: No such file or directory. Give the checks"),
        (("ada", "--roster", "a.csv", "--roster", "b.csv"), "--roster: given 2 times, and only the last would count."),
    ],
    ids=["path", "out", "only", "lang", "source", "roster", "without", "notebooks", "twice"],
)
def test_a_mistake_on_the_command_line_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert refused("grade", "--out", "out", *arguments).startswith(f"grader: {line}")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("in_process")
def test_a_full_disk_costs_no_finished_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        write_folder(tmp_path / "class" / name, ASSIGNMENT.solution())
    replace = os.replace
    written: list[Path] = []

    def fill_up(source: str, target: Path) -> None:
        if target.name == "report.json":
            if written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), source)
            written.append(target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", fill_up)
    result = command("grade", tmp_path / "class", "--out", tmp_path / "out")
    assert result.exit_code == 3
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("grader: "))
    assert line.endswith(
        "report.json: No space left on device. Reports written so far are complete. Free disk space and run again."
    )
    files = {path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {*written, tmp_path / "out" / LEDGER, tmp_path / "out" / SOURCES}  # no temporary file either
    assert Report.model_validate_json(written[0].read_bytes()).score == 100


@pytest.mark.usefixtures("in_process")
def test_a_class_is_graded_and_shown(ada: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(tmp_path / "class" / "bo", edited(SEES_LATER_TOKENS))
    ada.rename(tmp_path / "class" / "ada")
    (tmp_path / "class" / "nobody.zip").touch()
    result = run("grade", tmp_path / "class", "--out", out)
    assert [line for line in result.stderr.splitlines() if line.startswith("[")] == [
        "[1/3] ada: 100/100, bonus 20/20",
        "[2/3] bo: 70/100, bonus 20/20",
        "[3/3] nobody: unreadable",
    ]
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json")) == [
        "ada/report.json",
        "bo/report.json",
        "nobody/report.json",
        "sources.json",
        "summary.json",
    ]
    summary = Summary.model_validate_json((out / "summary.json").read_bytes())
    assert [(line.id, line.score) for line in summary.submissions] == [("ada", 100), ("bo", 70), ("nobody", None)]
    table, *_ = run("show", out).stdout.split("\n\n")
    assert [line.split()[0] for line in table.splitlines()] == ["submission", "ada", "bo", "nobody"]
    assert table.splitlines()[2].split() == ["bo", "70", "20", "70", "20"]
    one = run("show", out, "bo").stdout
    assert "bo: 70/100, bonus 20/20" in one
    assert ASSIGNMENT.rubric.misconception("attention_sees_later_tokens").hint["en"] in " ".join(one.split())
    assert re.search(r"✗ +0/30 +a token gathers from itself", one)
    assert f"zoe: no student matches. `grader show {out}` lists everyone." in refused("show", out, "zoe")
    assert "adda: no student matches (did you mean ada?)" in refused("show", out, "adda")
    assert "o: ambiguous: bo, nobody. Give more" in refused("show", out, "o")


@pytest.mark.usefixtures("in_process")
def test_practice_points_stand_beside_the_score(ada: Path, tmp_path: Path) -> None:
    checks = tmp_path / "checks.csv"
    rows = ["ada,0_small,double,2,2", "ada,0_small,triple,,3", "zoe,0_small,double,2,2"]
    checks.write_text("\n".join(["student_id,notebook,cell,points,max_points", *rows]))
    told = run("grade", ada, "--out", tmp_path / "out", "--notebooks", checks).stdout
    assert told.splitlines()[1].split() == ["ada", "100", "20", "100", "20", "4"]
    assert "ada: notebook checks never ran: 0_small: triple" in told
    assert "notebooks only, no submission: zoe" in told
    line = Summary.model_validate_json((tmp_path / "out" / "summary.json").read_bytes()).submissions[0]
    assert (line.score, line.bonus) == (100, 20)
    assert line.practice == Practice(points=4, max_points=10, unsettled=["0_small: triple"])


def test_our_own_failure_is_shown_and_ends_with_3(
    judges: Judges, ada: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of our own making")

    # One that remembered would know the reference's replies to be right.
    forgetful = judges(Settings(ASSIGNMENT, device="cpu", only="task2", remember=False))
    monkeypatch.setattr(grade, "grade_all", lambda submissions, *_: (forgetful.grade(one) for one in submissions))
    monkeypatch.setattr(ASSIGNMENT.part("oracle"), "swiglu", fail)
    result = command("grade", ada, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].startswith("grader: the grader failed on some submissions")
    (line,) = json.loads((tmp_path / "out" / "summary.json").read_text())["submissions"]
    assert (line["status"], line["score"], line["bonus"]) == ("grader_error", None, None)
    report = Report.model_validate_json((tmp_path / "out" / "ada" / "report.json").read_bytes())
    assert re.match(r"(?s)swiglu_gate, .*ZeroDivisionError: of our own making", str(report.reason))
    assert report.properties["swiglu_gate"].outcome is Outcome.GRADER_ERROR


def test_the_version_is_printed() -> None:
    assert run("--version").stdout == f"grader {__version__}\n"
