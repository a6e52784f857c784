"""The same command again: what is graded is kept while everything is the same that could show in a report."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from grader import REPOSITORY
from grader.core import assignment as parts
from grader.core import settings as module
from grader.core.cli import grade
from grader.core.intake.candidate import safe_id
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.messages import as_data
from grader.core.results import database
from grader.core.results.database import LEDGER, opened
from grader.core.results.ledger import Ledger
from grader.core.results.report import Report
from grader.core.results.written import read_lines
from grader.core.sandbox.limits import Level, Limits
from grader.core.settings import Conditions, Settings, conditions
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.followup.submissions import candidates_of
from grader.selftest import exports, reports
from grader.selftest.exports import Someone, class_of, write_zip
from grader.selftest.reports import unreadable
from grader.selftest.submissions import SWIGLU, write_folder, zipped
from grader.selftest.term import command
from grader.selftest.term import run as succeed

pytestmark = pytest.mark.usefixtures("reads_here")

TIMES = re.compile(r'"(started_at|duration_s)": [^\n]*')


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Judges that give everybody the same; the list has whom they have graded."""
    graded: list[str] = []

    def grade_all(submissions: Iterable[Submission], *_: object) -> Iterator[Report]:
        for submission in submissions:
            graded.append(submission.id)
            made = unreadable(submission.id, submission.reason) if submission.reason else reports.report(submission.id)
            notices, parts = list(map(str, submission.notices)), list(map(as_data, submission.notices))
            info = {"sha256": submission.sha256, "notices": notices, "notice_parts": parts}
            yield made.model_copy(update={"submission": made.submission.model_copy(update=info)})

    monkeypatch.setattr(grade, "grade_all", grade_all)
    return graded


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three submissions in ``class``, of which two hand in the same files, and one nothing."""
    for name, text in (("ada", "a = 1\n"), ("bo", "a = 1\n")):
        write_folder(tmp_path / "class" / name, {SWIGLU: text})
    write_folder(tmp_path / "class", {"cy.zip": "not a zip"})
    return tmp_path


def run(place: Path, *options: str, code: int = 0) -> Result:
    result = command("grade", place / "class", "--out", place / "out", "--lang", "en", *options)
    assert result.exit_code == code, result.output
    return result


def contents(out: Path) -> dict[str, str]:
    """Every report and the summary, times aside."""
    files = sorted(out.rglob("*.json"))
    return {path.relative_to(out).as_posix(): TIMES.sub("", path.read_text(encoding="utf-8")) for path in files}


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
    write_folder(place / "class", {f"ada/{SWIGLU}": "a = 2\n", "cy.zip": "", f"di/{SWIGLU}": "a = 1\n"})
    (place / "class" / "bo" / SWIGLU).rename(place / "class" / "bo" / "swiglu.py")  # the same file, with a remark
    run(place)
    assert judged == ["ada", "bo", "di"]
    (place / "class" / "cy.zip").unlink()
    judged.clear()
    assert "1 submissions of earlier runs stay in the class; --replace removes them" in run(place).stderr
    assert listed(place / "out") == ["ada", "bo", "cy", "di"]
    run(place, "--replace")
    assert listed(place / "out") == ["ada", "bo", "di"]
    assert judged == []
    assert (place / "out" / "cy" / "report.json").exists()


def listed(out: Path) -> list[str]:
    return [line["id"] for line in json.loads((out / "summary.json").read_text())["submissions"]]


def test_a_misnamed_file_is_graded_where_a_decision_says(judged: list[str], place: Path) -> None:
    (place / "class" / "bo" / SWIGLU).rename(place / "class" / "bo" / "final.py")
    run(place)
    judged.clear()
    decided = ("decide", place / "out", "bo", "--why", "A slip.")
    for wrong in ("src/other.py=final.py", SWIGLU):
        refused = command(*decided, "--file", wrong)
        assert "give PATH=NAME. PATH is one of src/attention.py, src/swiglu.py" in refused.stderr
    assert "Grade again" in succeed(*decided, "--file", f"{SWIGLU}=final.py").stdout
    export = ("export", place / "out", "--to", "csv")
    assert f"bo: {SWIGLU}: not applied yet; grade this submission again\n" in command(*export).stderr
    run(place)
    succeed(*export)
    assert judged == ["bo"]
    ada, bo = (json.loads((place / "out" / name / "report.json").read_text())["submission"] for name in ("ada", "bo"))
    assert ada["sha256"] == bo["sha256"]
    assert f"'final.py' was graded as {SWIGLU}." in bo["notices"]
    succeed(*decided, "--file", f"{SWIGLU}=fnal.py")
    assert f"'fnal.py' was to be graded as {SWIGLU}, but was not found." in run(place).stdout
    assert "not applied yet" not in command(*export).stderr
    succeed(*decided, "--withdraw", SWIGLU)
    run(place)
    assert judged == ["bo", "bo", "bo"]


def test_a_roster_beside_one_submission_takes_nobody_elses_away(judged: list[str], place: Path) -> None:
    """And whoever has handed in by now is no longer absent."""
    (place / "roster.csv").write_text("username,name\nada,Ada\nbo,Bo\ncy,Cy\ndi,Di\n")
    run(place, "--roster", str(place / "roster.csv"))
    judged.clear()
    write_folder(place / "late", {f"di/{SWIGLU}": "a = 3\n"})
    succeed("grade", place / "late", "--out", place / "out", "--roster", place / "roster.csv")
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
    one = ("grade", place / "class" / "bo", "--out", place / "out")
    result = command(*one)
    assert (result.exit_code, (place / "out" / "summary.json").exists()) == (2, False)
    assert "1 submissions of an earlier run, which was stopped, have no result" in result.stderr
    succeed(*one, "--replace")
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
    assert "already graded" not in run(place, "--roster", str(place / "roster.csv"), "--fresh").stderr
    assert judged == ["ada", "bo", "cy"] * 2
    assert contents(place / "out") == late


def test_results_from_several_environments_are_pointed_out(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as after a change of the kernel's settings, which no judge was asked about."""
    first = run(place)
    weak = reports.ENVIRONMENT.model_copy(update={"isolation": "seccomp"})
    monkeypatch.setattr(reports, "ENVIRONMENT", weak)
    write_folder(place / "class", {f"di/{SWIGLU}": "a = 1\n"})
    second = run(place)
    assert judged == ["ada", "bo", "cy", "di"]
    assert "isolation" not in first.stderr
    assert second.stderr.splitlines()[-2:] == [
        "isolation is only 'seccomp'; `grader doctor` shows what is missing.",
        "results come from 2 environments (see reports); --fresh regrades all in this one.",
    ]


def test_another_grader_there_is_one_line(judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT_S", 0)
    (place / "out").mkdir()
    with opened(place / "out"):
        result = run(place, code=2)
    assert result.stderr.startswith(f"grader: {place / 'out' / LEDGER}: is in use by another grader or program.")
    assert (result.stderr.count("\n"), judged) == (1, [])


def test_a_regrade_that_was_stopped_halfway_cannot_be_exported(
    judged: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report that never reached the ledger is graded again; the summary comes back with the rest of them."""
    run(place)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert "stopped; 1 of 3 reports are in" in run(place, "--seed", "1", code=130).stderr
    result = command("export", place / "out", "--to", "csv")
    assert result.exit_code == 2
    assert "summary.json: No such file or directory. Run grade first; if it was interrupted" in result.stderr
    run(place, "--seed", "1")
    assert judged == ["ada", "bo", "cy", "ada", "ada", "bo", "cy"]
    assert (place / "out" / "summary.json").exists()


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
        ("grader/core/results/views.py", True),
        ("grader/shared/second_device/compute.py", True),
        ("grader/shared/source_rules.py", True),
        ("grader/testing.py", True),
        ("grader/core/messages.py", True),
        ("grader/core/run/judge_process.py", True),
        ("ref/swiglu.py", True),
        ("grader/assignment/corpus/variants/wrong/swiglu.py", False),
        ("grader/assignment/demo.py", False),
        ("grader/assignment/hidden/demo.py", True),
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


@pytest.mark.parametrize("names", [("ada", "ADA"), ("a_b", "a b"), ("a_b", "a b.zip", "a_b.zip")], ids=ascii)
def test_ids_stay_when_others_that_make_the_same_one_arrive_and_leave(
    tmp_path: Path, judged: list[str], names: tuple[str, ...]
) -> None:
    """A decision about the first would otherwise be about the second from then on."""
    one = names[0]
    ids = [one, *(f"{safe_id(Path(name).stem)}-{number}" for number, name in enumerate(names[1:], 2))]
    for name in names:
        write_folder(tmp_path / "class", {name: zipped(ASSIGNMENT.solution())} if name.endswith("zip") else {})
        if not name.endswith("zip"):
            write_folder(tmp_path / "class" / name, ASSIGNMENT.solution())
        succeed("grade", tmp_path / "class", "--out", tmp_path / "out")
    succeed("grade", tmp_path / "class", "--out", tmp_path / "out")
    assert judged == ids
    with Reader() as reader:
        found = candidates_of(tmp_path / "out", None, reader)
    assert {name: candidate.path.name for name, candidate in found.items()} == dict(zip(ids, names, strict=True))
    shutil.rmtree(tmp_path / "class" / one)
    succeed("grade", tmp_path / "class", "--out", tmp_path / "out", "--replace")
    assert judged == ids


@pytest.mark.parametrize("made", [exports.canvas, exports.moodle], ids=["canvas", "moodle"])
def test_a_later_attempt_gets_a_report_of_its_own(
    tmp_path: Path, judged: list[str], made: Callable[[Sequence[Someone]], Mapping[str, bytes]]
) -> None:
    """And each is found again, also where both lie elsewhere by now."""
    people = class_of(1)[:1]
    command = ("--every-attempt", "--out", tmp_path / "out")
    for name in ("first", "second", "first", "second"):
        (tmp_path / name).mkdir(exist_ok=True)
        succeed("grade", write_zip(tmp_path / name / "given.zip", made(people)), *command)
    first, second = judged
    assert second == f"{first}-2"
    assert len(read_lines(tmp_path / "out")) == 2
    with Reader() as reader:
        found = candidates_of(tmp_path / "out", None, reader)
        assert {one.id: one.path.parent.name for one in found.values()} == {first: "first", second: "second"}
        (tmp_path / "second").rename(tmp_path / "moved")
        found = candidates_of(tmp_path / "out", [tmp_path / name / "given.zip" for name in ("first", "moved")], reader)
    assert found.keys() == {first, second}
    succeed("grade", tmp_path / "moved" / "given.zip", "--out", tmp_path / "out")
    assert judged == [first, second]
    assert len(read_lines(tmp_path / "out")) == 1
