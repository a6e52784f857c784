"""A second hand-in regains a part of what the first one lost; both reports stay, and every command follows."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader.cli import app as cli
from grader.cli import export, grade, report, show
from grader.cli.decided import read_decided
from grader.decisions.rounds import REPAIR, Rounds, read_model, repaired
from grader.judge.judge import Judge
from grader.rubric import Policy
from grader.selftest import reports
from grader.selftest.reports import FAILED, PASSED, unreadable, write_class
from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import write_folder
from grader.tools.review.what_if import what_if

FIRST = {"eps": (PASSED, 6.0), "mean": (FAILED, 4.0), "bonus": (FAILED, 5.0)}
BETTER = {"eps": (FAILED, 6.0), "mean": (PASSED, 4.0), "bonus": (PASSED, 5.0)}
HALF = replace(ASSIGNMENT)
HALF.__dict__["rubric"] = ASSIGNMENT.rubric.model_copy(update={"policy": Policy(repair=0.5)})


def run(*arguments: str | Path) -> Result:
    """A command, however it ends."""
    return CliRunner().invoke(cli.app, [*map(str, arguments)])


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy by which half of what is regained counts."""
    for command in (export, grade, report, show):
        monkeypatch.setattr(command, "ASSIGNMENT", HALF)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Ada and Cy hand in a second time, Bo does not; nothing could be read of what Cy handed in first."""
    folder = write_class(
        tmp_path / "out", reports.report("ada", FIRST, name="Ada"), reports.report("bo", FIRST), unreadable("cy")
    )
    write_class(folder / REPAIR, reports.report("ada-2", BETTER, name="Ada"), reports.report("cy", BETTER))
    return folder


def with_ada(out: Path) -> None:
    """Have Ada's second hand-in have the same student, under another id."""
    path = out / REPAIR / "summary.json"
    whole = json.loads(path.read_text())
    whole["submissions"][0]["origin"]["students"][0]["id"] = "c-ada"
    path.write_text(json.dumps(whole))


def test_a_share_of_what_is_better_counts_property_by_property() -> None:
    found = repaired(reports.report("a", FIRST), reports.report("a", BETTER), 0.5, ASSIGNMENT.rubric)
    assert [(own.id, own.first, own.second, own.points) for own in found.regained] == [
        ("mean", 0, 4, 2),
        ("bonus", 0, 5, 2.5),
    ]
    assert (found.report.score, found.report.bonus, found.points) == (8, 2.5, 4.5)  # what got worse stays as it was
    nothing = repaired(reports.report("a", FIRST), unreadable("a"), 0.5, ASSIGNMENT.rubric)
    assert (nothing.regained, nothing.report.score) == ((), 6)


def test_whoever_could_not_be_read_at_first_regains_all_that_counts() -> None:
    found = repaired(unreadable("a"), reports.report("a", BETTER, name="Other"), 0.5, ASSIGNMENT.rubric)
    assert (found.report.status, found.report.score, found.report.bonus) == ("graded", 2, 2.5)
    assert found.report.submission.origin is None  # whose it is, the first one says


@pytest.mark.usefixtures("halves")
def test_exports_pages_and_show_follow_and_both_reports_stay(out: Path) -> None:
    with_ada(out)
    before = (out / "ada" / "report.json").read_bytes()
    assert run("export", out, "--to", "csv").exit_code == 0
    rows = list(csv.DictReader(io.StringIO((out / "grades.csv").read_text(encoding="utf-8-sig"))))
    told = [" ".join(row.values()) for row in rows]
    assert "10.5" in told[0]
    assert "The second hand-in regains 9 points in 2 properties; 50% of that counts: 4.5." in told[0]
    assert "second" not in told[1]
    shown = run("show", out, "ada", "--lang", "en").stdout
    assert "Repaired" in shown
    assert "   0 → 4    +2    mean is right" in shown
    assert run("report", out, "--lang", "zh").exit_code == 0
    page = (out / "html" / "students" / "ada.html").read_text(encoding="utf-8")
    assert "第二次提交在 2 条性质上挽回了 9 分；其中计入 50%：4.5 分。" in page
    assert "第二次提交" not in (out / "html" / "students" / "bo.html").read_text(encoding="utf-8")
    assert (out / "ada" / "report.json").read_bytes() == before
    assert (out / REPAIR / "ada-2" / "report.json").is_file()


def test_trying_out_points_counts_the_second_round_too(out: Path) -> None:
    known = read_decided(out, HALF.rubric)
    assert what_if(known, {}, {}) == []
    moves = {own.submission: (own.move.old, own.move.new) for own in what_if(known, {"mean": 8.0}, {})}
    assert moves["cy"] == (4.5, 6.5)  # half of four more
    assert "bo" not in moves


def test_without_a_share_in_the_rubric_nothing_counts(out: Path) -> None:
    rounds = Rounds(out, ASSIGNMENT.rubric, read_model)
    assert rounds.repair(reports.report("ada", FIRST)) is None
    assert "Repaired" not in run("show", out, "ada").stdout


def test_a_round_is_refused_that_could_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = write_folder(tmp_path / "ada", ASSIGNMENT.solution())
    refused = run("grade", work, "--out", tmp_path / "out", "--round", "repair")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Set repair in [policy] in the rubric" in refused.stderr
    monkeypatch.setattr(grade, "ASSIGNMENT", HALF)
    refused = run("grade", work, "--out", tmp_path / "out", "--round", "repair")
    assert "holds no first round" in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.process
@pytest.mark.usefixtures("halves")
def test_a_second_round_is_graded_beside_the_first(
    tmp_path: Path, grader: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "grade_all", lambda submissions, *_: (grader.grade(own) for own in submissions))
    solution, stubs = ASSIGNMENT.solution(), ASSIGNMENT.stubs()
    first = {**solution, "src/swiglu.py": stubs["src/swiglu.py"]}
    for name in ("ada", "bo"):
        write_folder(tmp_path / "first" / name, first)
    write_folder(tmp_path / "second" / "ada", solution)
    write_folder(tmp_path / "second" / "zoe", solution)
    assert run("grade", tmp_path / "first", "--out", tmp_path / "out").exit_code == 0
    result = run("grade", tmp_path / "second", "--out", tmp_path / "out", "--round", "repair")
    assert result.exit_code == 0, result.output
    assert "ada: The second hand-in regains 20 points in 2 properties; 50% of that counts: 10." in result.stdout
    assert "zoe: no first hand-in to repair, or several second ones; it counts for nobody." in result.stdout
    lines = {line["id"]: line for line in json.loads((tmp_path / "out" / "summary.json").read_text())["submissions"]}
    assert (lines["ada"]["bonus"], sorted(lines)) == (0, ["ada", "bo"])  # of the first round, as it was graded
    assert (tmp_path / "out" / REPAIR / "ada" / "report.json").is_file()
