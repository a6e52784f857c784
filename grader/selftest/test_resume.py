"""The same command again: what is graded is kept, what changed is graded, and a kill at any moment costs nothing."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader import REPOSITORY
from grader import __main__ as cli
from grader.core.cli import grade
from grader.core.intake.submission import Submission
from grader.core.results import database
from grader.core.results.database import LEDGER, opened
from grader.core.results.ledger import Ledger
from grader.core.results.report import Report
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest import LONG, reports
from grader.selftest.reports import unreadable
from grader.selftest.submissions import SEES_LATER_TOKENS, SWIGLU, edited, write_folder

pytestmark = pytest.mark.usefixtures("reads_here")

FILE = SWIGLU
SOLUTION = ASSIGNMENT.solution()
TIMES = re.compile(r'"(started_at|duration_s)": [^\n]*')


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Judges that give everybody the same; the list has whom they have graded."""
    graded: list[str] = []

    def grade_all(submissions: Iterable[Submission], *_: object) -> Iterator[Report]:
        for own in submissions:
            graded.append(own.id)
            made = unreadable(own.id, own.reason) if own.reason else reports.report(own.id)
            info = {"sha256": own.sha256, "notices": list(own.notices)}
            yield made.model_copy(update={"submission": made.submission.model_copy(update=info)})

    monkeypatch.setattr(grade, "grade_all", grade_all)
    return graded


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three submissions in ``class``, of which two hand in the same files, and one nothing."""
    for name, text in (("ada", "a = 1\n"), ("bo", "a = 1\n")):
        write_folder(tmp_path / "class" / name, {FILE: text})
    write_folder(tmp_path / "class", {"cy.zip": "not a zip"})
    return tmp_path


def run(place: Path, *options: str, code: int = 0) -> Result:
    """``class`` graded into ``out``."""
    arguments = ["grade", str(place / "class"), "--out", str(place / "out"), "--lang", "en", *options]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == code, result.output
    return result


def contents(out: Path) -> dict[str, str]:
    """Every report and the summary, times aside."""
    files = sorted(out.rglob("*.json"))
    return {path.relative_to(out).as_posix(): TIMES.sub("", path.read_text(encoding="utf-8")) for path in files}


# ── What is kept, and what is not ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_graded_is_not_graded_again(judged: list[str], place: Path) -> None:
    first = run(place)
    assert judged == ["ada", "bo", "cy"]  # each for itself, though two are the same: whose a report is stands in it
    before, times = contents(place / "out"), [path.stat().st_mtime_ns for path in (place / "out").glob("*/*")]
    again = run(place)
    assert judged == ["ada", "bo", "cy"]
    assert again.stderr == "3 of 3 already graded and kept; --fresh regrades all\n"
    assert contents(place / "out") == before
    assert [path.stat().st_mtime_ns for path in (place / "out").glob("*/*")] == times
    assert again.stdout.splitlines()[:4] == first.stdout.splitlines()[:4]
    assert "3 submissions, 3 of them kept, in " in again.stdout


def test_what_somebody_has_looked_at_is_not_listed_for_review_again(judged: list[str], place: Path) -> None:
    del judged
    listed = [line.split(": ")[:2] for line in run(place).stdout.splitlines() if line.count(": ") > 1]
    assert ["cy", "unreadable"] in listed
    assert ["ada, bo", "renamed"] in listed  # told together
    look = 'seen = ["{code}"]\nwho = "kim"\nwhen = 2026-10-05T10:00:00Z\n'
    told = [(who, code) for names, code in listed for who in names.split(", ")]
    looks = (f'[[decision]]\nstudent = "{who}"\n{look.format(code=code)}' for who, code in told)
    (place / "out" / "decisions.toml").write_text("\n".join(looks))
    again = run(place).stdout
    assert "for manual review" not in again
    assert again.splitlines()[-1] == f"Next: grader export {place / 'out'} --to csv"


def test_what_changed_is_graded_and_what_is_gone_is_left_out_if_that_is_said(judged: list[str], place: Path) -> None:
    run(place)
    judged.clear()
    write_folder(place / "class", {f"ada/{FILE}": "a = 2\n", "cy.zip": "", f"di/{FILE}": "a = 1\n"})
    (place / "class" / "bo" / FILE).rename(place / "class" / "bo" / "swiglu.py")  # the same file, with a remark
    run(place)
    assert judged == ["ada", "bo", "di"]
    (place / "class" / "cy.zip").unlink()
    judged.clear()
    for options, there in (((), ["ada", "bo", "cy", "di"]), (("--replace",), ["ada", "bo", "di"])):
        run(place, *options)
        assert listed(place / "out") == there
    assert judged == []
    assert (place / "out" / "cy" / "report.json").exists()


def listed(out: Path) -> list[str]:
    """The submissions in the summary."""
    return [line["id"] for line in json.loads((out / "summary.json").read_text())["submissions"]]


def test_a_misnamed_file_is_graded_where_a_decision_says(judged: list[str], place: Path) -> None:
    (place / "class" / "bo" / FILE).rename(place / "class" / "bo" / "final.py")
    run(place)
    judged.clear()
    decided = ["decide", str(place / "out"), "bo", "--why", "A slip.", "--file"]
    refused = CliRunner().invoke(cli.app, [*decided, "src/other.py=final.py"])
    assert "give PATH=NAME. PATH is one of src/attention.py, src/swiglu.py" in refused.stderr
    assert "Grade again" in CliRunner().invoke(cli.app, [*decided, f"{FILE}=final.py"]).stdout
    run(place)
    assert judged == ["bo"]
    ada, bo = (json.loads((place / "out" / own / "report.json").read_text())["submission"] for own in ("ada", "bo"))
    assert ada["sha256"] == bo["sha256"]
    assert f"'final.py' was graded as {FILE}." in bo["notices"]
    assert CliRunner().invoke(cli.app, [*decided[:3], "--withdraw", FILE, "--why", "Not so."]).exit_code == 0
    run(place)
    assert judged == ["bo", "bo"]


def test_a_roster_beside_one_submission_takes_nobody_elses_away(judged: list[str], place: Path) -> None:
    """And whoever has handed in by now is no longer absent."""
    (place / "roster.csv").write_text("username,name\nada,Ada\nbo,Bo\ncy,Cy\ndi,Di\n")
    run(place, "--roster", str(place / "roster.csv"))
    judged.clear()
    write_folder(place / "late", {f"di/{FILE}": "a = 3\n"})
    arguments = ["grade", str(place / "late"), "--out", str(place / "out"), "--roster", str(place / "roster.csv")]
    assert CliRunner().invoke(cli.app, arguments).exit_code == 0
    assert judged == ["di"]
    assert listed(place / "out") == ["ada", "bo", "cy", "di"]
    summary = json.loads((place / "out" / "summary.json").read_text())
    assert [line["origin"]["source"] for line in summary["submissions"]] == ["folders"] * 4


def test_after_a_stopped_run_one_submission_alone_makes_no_summary(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export would leave out the others without a word."""
    everyone: Callable[..., Iterator[Report]] = vars(grade)["grade_all"]

    def stopped(submissions: Iterable[Submission], *rest: object) -> Iterator[Report]:
        yield from list(everyone(submissions, *rest))[:1]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(grade, "grade_all", stopped)
        run(place, code=130)
    one = ["grade", str(place / "class" / "bo"), "--out", str(place / "out")]
    result = CliRunner().invoke(cli.app, one)
    assert (result.exit_code, (place / "out" / "summary.json").exists()) == (2, False)
    assert "1 submissions of an earlier run, which was stopped, have no result" in result.stderr
    assert CliRunner().invoke(cli.app, [*one, "--replace"]).exit_code == 0
    assert (listed(place / "out"), judged[-1]) == (["bo"], "bo")


def test_other_conditions_grade_all_and_are_named(judged: list[str], place: Path) -> None:
    run(place)
    judged.clear()
    result = run(place, "--seed", "1", "--only", "task1")
    assert judged == ["ada", "bo", "cy"]
    assert result.stderr.startswith(
        "earlier results were graded under different conditions (only, seed) and are regraded\n"
    )
    judged.clear()
    run(place, "--seed", "1", "--only", "task1")
    assert judged == []


def test_fresh_grades_all(judged: list[str], place: Path) -> None:
    run(place)
    result = run(place, "--fresh")
    assert judged == ["ada", "bo", "cy"] * 2
    assert "already graded" not in result.stderr


def test_a_report_that_was_changed_or_deleted_is_put_back(judged: list[str], place: Path) -> None:
    run(place)
    before, out = contents(place / "out"), place / "out"
    (out / "ada" / "report.json").unlink()
    (out / "bo" / "report.json").write_text(before["bo/report.json"].replace("6.0", "60.0"))
    os.utime(out / "cy" / "report.json")  # as a copy of the folder would have it
    result = run(place)
    assert judged == ["ada", "bo", "cy"]
    assert contents(out) == before
    assert [line for line in result.stderr.splitlines() if "restored" in line] == [
        "ada: report.json had been edited or deleted; restored from the ledger",
        "bo: report.json had been edited or deleted; restored from the ledger",
    ]
    assert "restored" not in run(place).stderr


def test_a_roster_that_comes_later_costs_no_grading(judged: list[str], place: Path) -> None:
    run(place)
    write_folder(place, {"roster.csv": "id,name\nada,Ada Lovelace\nbo,Bo\ncy,Cy\n"})
    run(place, "--roster", str(place / "roster.csv"))
    assert judged == ["ada", "bo", "cy"]
    late = contents(place / "out")
    assert '"name": "Ada Lovelace"' in late["ada/report.json"]
    assert '"name": "Ada Lovelace"' in late["summary.json"]
    run(place, "--roster", str(place / "roster.csv"), "--fresh")
    assert contents(place / "out") == late


def test_results_from_several_environments_are_pointed_out(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as after a change of the kernel's settings, which no judge was asked about."""
    first = run(place)
    weak = reports.ENVIRONMENT.model_copy(update={"isolation": "seccomp"})
    monkeypatch.setattr(reports, "ENVIRONMENT", weak)
    write_folder(place / "class", {f"di/{FILE}": "a = 1\n"})
    second = run(place)
    assert judged == ["ada", "bo", "cy", "di"]
    assert "isolation" not in first.stderr
    assert second.stderr.splitlines()[-2:] == [
        "isolation is only 'seccomp'; `grader doctor` shows what is missing.",
        "results come from 2 environments (see reports); --fresh regrades all in this one.",
    ]


# ── What changed unseen ─────────────────────────────────────────────────────────────────────────────────────────────


def test_other_notices_about_the_same_files_are_noticed(judged: list[str], place: Path) -> None:
    run(place)
    write_folder(place, {"roster.csv": "id,name\nada,Ada Lovelace\ncy,Cy\n"})
    judged.clear()
    run(place, "--roster", str(place / "roster.csv"))
    assert judged == ["bo"]  # nobody in the roster


def test_a_ledger_with_stamps_of_an_earlier_version_is_used_and_kept(judged: list[str], place: Path) -> None:
    run(place)
    with opened(place / "out") as ledger:
        ledger.execute("CREATE TABLE stamps (result INTEGER PRIMARY KEY REFERENCES results (id), stamp TEXT NOT NULL)")
        ledger.execute("INSERT INTO stamps SELECT id, 'of then' FROM results")
    write_folder(place / "class", {f"ada/{FILE}": "a = 2\n"})
    judged.clear()
    run(place)
    assert judged == ["ada"]


# ── The ledger in the way ───────────────────────────────────────────────────────────────────────────────────────────


def test_another_grader_in_the_same_folder_is_one_line(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0)
    (place / "out").mkdir()
    with opened(place / "out"):
        result = run(place, code=2)
    assert result.stderr.startswith(f"grader: {place / 'out' / LEDGER}: is in use by another grader or program.")
    assert (result.stderr.count("\n"), judged) == (1, [])


def test_a_report_that_never_reached_the_ledger_is_graded_again(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert "stopped; 1 of 3 reports are in" in run(place, code=130).stderr
    run(place)
    assert judged == ["ada", "ada", "bo", "cy"]


def test_a_regrade_that_was_stopped_halfway_cannot_be_exported(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some reports are new then and some old; the summary comes back with the rest of them."""
    run(place)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run(place, "--seed", "1", code=130)
    result = CliRunner().invoke(cli.app, ["export", str(place / "out"), "--to", "csv"])
    assert (result.exit_code, "summary.json: No such file or directory. Run grade first" in result.stderr) == (2, True)
    run(place, "--seed", "1")
    assert judged == ["ada", "bo", "cy", "ada", "ada", "bo", "cy"]
    assert (place / "out" / "summary.json").exists()


# ── Killed for real ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.process
def test_a_killed_run_goes_on_and_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    """In each of two places the same command; in one of them the coordinator is killed, and started again."""
    kinds = [ASSIGNMENT.solution(), ASSIGNMENT.stubs(), edited(SEES_LATER_TOKENS)]
    places = [tmp_path / "calm", tmp_path / "killed"]
    for place in places:
        for number in range(size := 200 if LONG else 6):
            own = kinds[number % 3] | {"src/modeling/__init__.py": f"# {number}\n"}
            write_folder(place / "class" / f"s{number:03}", own)
    calm, killed = places
    assert command(calm).wait(1000) == 0
    rng, kept = random.Random(0), 0
    for _ in range(3 if LONG else 1):
        goal = kept + rng.randrange(1, size // 4 + 1)
        with command(killed) as process:
            while len([*(killed / "out").glob("*/report.json")]) < goal:
                assert process.poll() is None
                time.sleep(0.02)
            process.kill()
        kept = len(known(killed / "out"))
        assert goal - 1 <= kept < size  # the last report may not have reached the ledger
    times = {own: (killed / "out" / own / "report.json").stat().st_mtime_ns for own in known(killed / "out")}
    assert command(killed).wait(1000) == 0
    assert contents(killed / "out") == contents(calm / "out")
    assert len(contents(killed / "out")) == size + 2  # with the summary, and the note of where submissions lie
    assert times == {own: (killed / "out" / own / "report.json").stat().st_mtime_ns for own in times}


def command(place: Path) -> subprocess.Popen[bytes]:
    """``grade`` with real judges, in a place, so that the command line is the same everywhere."""
    options = ["--out", "out", "--device", "cpu", "--only", "task1", "--jobs", "2" if LONG else "1", "--lang", "en"]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "grader.selftest.command", "grade", "class", *options],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def known(out: Path) -> list[str]:
    """What the ledger of a killed run knows."""
    ledger = sqlite3.connect(out / LEDGER)
    found = [own for (own,) in ledger.execute("SELECT submission FROM latest")]
    ledger.close()
    return found
