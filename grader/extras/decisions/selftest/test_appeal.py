"""``grader appeal``: one submission again in a scratch place, whom else it concerns, and a draft that gives points."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import pytest
from typer.testing import Result

from grader.core.grades.graded import FILE, FOLDER
from grader.core.results.outcome import Outcome
from grader.core.results.report import CaseReport, Report
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.alike import alike, lost
from grader.extras.decisions.appeal import gains, losses
from grader.extras.decisions.file import read
from grader.selftest.class_reports import graded, ungraded
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, write_folder, zipped
from grader.selftest.term import command, refused, run

PROPERTY = "attention_causal"
TITLE, WORTH = ASSIGNMENT.rubric.properties[PROPERTY].title["en"], ASSIGNMENT.rubric.properties[PROPERTY].points
FULL = ASSIGNMENT.rubric.max_score + ASSIGNMENT.rubric.max_bonus
MOVE = f"{FULL - WORTH:g} → {FULL:g}"

REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("zoe",), "grader: zoe: no student matches"),
    (("fay",), "grader: fay: submitted nothing. Give the files to grade."),
    (("cleo", "nowhere"), "grader: nowhere: no such file or folder."),
    (("cleo", "CLASS"), "contains 4 submissions. Give the folder or zip of one student."),
    (("cleo", "CLASS/ada", "CLASS/dan"), "a folder or zip is a whole submission"),
    (("cleo", "CLASS/ada", f"CLASS/dan/{ATTENTION}"), "not both."),
    (("eve", f"CLASS/dan/{ATTENTION}", "--submissions", "CLASS/ada"), "eve: no longer among the submissions."),
    (("cleo", "--keep", "OUT/there"), "inside the class folder"),
    (("cleo", "--keep", "CLASS"), "already exists"),
    (("cleo", "--lang", "fr"), "not a language"),
]


@pytest.fixture
def out(judged: None, tmp_path: Path) -> Path:
    """Five students: one is right, two see later tokens, one handed in a broken zip, and one nothing."""
    del judged
    wrong = edited(SEES_LATER_TOKENS)
    for name, files in {"ada": ASSIGNMENT.solution(), "cleo": wrong, "dan": wrong}.items():
        write_folder(tmp_path / "class" / name, files)
    (tmp_path / "class" / "eve.zip").write_bytes(b"PK\x03\x04 and then nothing")
    roster = tmp_path / "roster.csv"
    roster.write_text("username\nada\ncleo\ndan\neve\nfay\n")
    run("grade", tmp_path / "class", "--roster", roster, "--out", tmp_path / "out", "--device", "cpu")
    return tmp_path / "out"


def appeal(out: Path, *arguments: str | Path) -> Result:
    return command("appeal", out, "--lang", "en", *arguments)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def mended(report: Report) -> Report:
    """The report by hidden tests that let later tokens pass."""
    cases = [CaseReport(id="causal", outcome=Outcome.PASSED)]
    passed = {"outcome": Outcome.PASSED, "points": WORTH, "misconception": None, "cases": cases}
    better = report.with_properties(lambda prop: prop.model_copy(update=passed) if prop.id == PROPERTY else prop)
    how = report.provenance.model_copy(update={"hidden_tests_sha256": "f" * 64})
    return better.model_copy(update={"provenance": how, "score": report.score and ASSIGNMENT.rubric.max_score})


def failing(
    identifier: str, outcome: Outcome = Outcome.FAILED, mistake: str | None = None, message: str = ""
) -> Report:
    """A report with one lost property."""
    one = graded(identifier, {PROPERTY: outcome}, {PROPERTY: mistake} if mistake else {})
    text = one.model_dump_json().replace("AttributeError", message or "KeyError")
    return Report.model_validate_json(text)


def test_alike_are_those_with_the_same_mistake_the_same_cases_or_the_same_exception() -> None:
    plain, known = failing("plain"), failing("known", mistake="sees_later_tokens")
    crashed = failing("crashed", Outcome.CRASHED, message="NameError")
    classmates = [
        *(plain, known, crashed, failing("plain2"), failing("known2", mistake="sees_later_tokens")),
        *(failing("crashed2", Outcome.CRASHED, message="NameError"), failing("hung", Outcome.TIMED_OUT)),
        *(failing("crashed3", Outcome.CRASHED, message="TypeError"), graded("right")),
    ]
    others = {one.submission.id: lost(one) for one in classmates}
    for case in (plain, known, crashed):
        name = case.submission.id
        assert alike(case, {PROPERTY}, others) == {PROPERTY: [f"{name}2"]}
    assert alike(ungraded("unread", "unreadable", "no zip"), {PROPERTY}, others) == {}
    assert alike(plain, (), others) == {}


def test_a_draft_gives_points_and_takes_none() -> None:
    before, now = graded("ada", {PROPERTY: Outcome.FAILED}), graded("ada", {"swiglu_gate": Outcome.FAILED})
    assert gains(before, now) == [(PROPERTY, WORTH)]
    assert losses(before, now) == ["swiglu_gate"]
    assert not gains(now, now)
    assert not losses(now, now)
    assert gains(ungraded("ada", "unreadable", "no zip"), now) == [("score", now.score), ("bonus", now.bonus)]
    assert gains(before, ungraded("ada", "unreadable", "no zip")) == []


def test_a_property_that_is_only_worth_more_is_left_to_a_regrade_of_the_class() -> None:
    before = graded("ada", {PROPERTY: Outcome.FAILED})
    worth = {"points": 99.0, "max_points": 99.0}
    now = graded("ada").with_properties(lambda prop: prop.model_copy(update=worth))
    assert gains(before, now) == [(PROPERTY, WORTH)]  # not more than there was to earn


def test_the_same_files_give_the_same_result_and_nothing_in_the_folder_changes(out: Path) -> None:
    before = contents(out)
    result = appeal(out, "cleo")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "cleo: regraded; every outcome is the same.",
        f"{TITLE} (wrong result, attention_sees_later_tokens): other submissions with the same outcome: 1",
        "  dan",
        f"Nothing to decide. If you accept the student's reading of the task: `grader decide {out} cleo --override …`.",
    ]
    assert contents(out) == before


def test_other_files_make_a_draft_that_decide_takes_and_that_can_be_written_at_once(out: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "sent", {"attention.py": ASSIGNMENT.solution()[ATTENTION]})
    before = contents(out)
    told = appeal(out, "cleo", tmp_path / "sent" / "attention.py").stdout.splitlines()
    assert told[1] == f"  cleo: {MOVE} (+{WORTH:g})"
    assert f"other files were submitted: {ATTENTION}" in told[3]
    assert told[-2] == "To apply it (--write does this):"
    assert contents(out) == before
    grader, *command = shlex.split(told[-1])
    assert grader == "grader"
    run(*command)
    by_hand = [(entry.decision.override, entry.decision.points, entry.decision.why) for entry in read(out)]
    ground = [entry.decision.ground for entry in read(out)]
    (out / FILE).write_text("")
    chinese = appeal(out, "cleo", tmp_path / "sent" / "attention.py", "--lang", "zh").stdout
    assert "采纳的命令（--write 会直接写入）：" in chinese
    assert "复核时用你补交的文件重新评分" in chinese
    written = appeal(out, "cleo", tmp_path / "sent" / "attention.py", "--write", "--as", "kim")
    assert written.stdout.splitlines()[-2:] == [f"cleo (cleo): {MOVE}", str(out / FOLDER / "kim.toml")]
    assert {entry.decision.who for entry in read(out)} == {"kim"}
    assert [(entry.decision.override, entry.decision.points, entry.decision.why) for entry in read(out)] == by_hand
    assert [entry.decision.ground for entry in read(out)] == ground  # what was handed in then, and what the grader said
    again = appeal(out, "cleo", tmp_path / "sent" / "attention.py")
    assert "Nothing to decide." in again.stdout  # it holds already


def test_a_change_of_the_tests_is_said_to_concern_the_class(
    out: Path, known: dict[str, Report], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for digest, report in [*known.items()]:
        monkeypatch.setitem(known, digest, mended(report))
    result = appeal(out, "cleo", "--keep", tmp_path / "kept")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1] == f"  cleo: {MOVE} (+{WORTH:g})"
    assert "the hidden tests, the reference or the grader's code changed: " in lines[3]
    (alike,) = (number for number, line in enumerate(lines) if line.startswith(f"{TITLE} (wrong result, "))
    assert lines[alike].endswith("): other submissions with the same outcome: 1")
    assert lines[alike + 1] == "  dan"
    assert any(line.startswith("The grader has changed since then, so other grades may change") for line in lines)
    assert sorted(path.parent.name for path in (tmp_path / "kept").rglob("report.json")) == ["cleo"]


def test_whoever_handed_in_nothing_readable_gets_score_and_bonus(out: Path, tmp_path: Path) -> None:
    (tmp_path / "again.zip").write_bytes(zipped(edited(SEES_LATER_TOKENS)))
    told = appeal(out, "eve", tmp_path / "again.zip").stdout.splitlines()
    assert told[1] == f"  eve: unreadable → {FULL - WORTH:g} (+{FULL - WORTH:g})"
    drafts = [shlex.split(line)[4:8] for line in told if line.startswith("grader decide")]
    score, bonus = (f"{most:g}" for most in (ASSIGNMENT.rubric.max_score - WORTH, ASSIGNMENT.rubric.max_bonus))
    assert drafts == [["--override", "score", "--points", score], ["--override", "bonus", "--points", bonus]]


def test_what_cannot_be_done_is_one_line(out: Path) -> None:
    places, before = {"CLASS": str(out.parent / "class"), "OUT": str(out)}, contents(out)
    for arguments, line in REFUSED:
        given = [next((text.replace(*pair) for pair in places.items() if pair[0] in text), text) for text in arguments]
        assert line in refused("appeal", out, *given), arguments
    assert contents(out) == before


def test_a_fault_of_the_grader_is_no_answer_to_an_appeal(
    out: Path, known: dict[str, Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault: dict[str, object] = {
        "status": "grader_error",
        "reason": "no judge",
        "score": None,
        "bonus": None,
        "tasks": [],
    }
    for digest, report in [*known.items()]:
        monkeypatch.setitem(known, digest, report.model_copy(update=fault))
    result = appeal(out, "cleo")
    assert result.exit_code == 3
    assert "cleo: the grader failed on it: no judge" in result.stderr
    assert "decide" not in result.stdout
