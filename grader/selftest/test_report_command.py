"""``grader report`` and ``grader show``: what is wrong with the input is said in one line; a stopped run is shown."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader import __main__ as cli
from grader.core.cli.terminal import LINE_EVERY
from grader.core.results.outcome import Outcome
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import drawn, graded, ungraded, write
from grader.selftest.term import command, refused


@pytest.fixture
def out(tmp_path: Path) -> Path:
    lost = dict.fromkeys(("swiglu_gate", "swiglu_weights"), Outcome.CRASHED) | {"attention_causal": Outcome.FAILED}
    held = {"attention_causal": "attention_sees_later_tokens"}
    return write(tmp_path / "out", [graded("ada"), graded("bo", lost, held), ungraded("chen", "unreadable", "no zip")])


@pytest.mark.parametrize("command", ["report", "show"])
def test_a_folder_without_reports_is_named(tmp_path: Path, command: str) -> None:
    line = refused(command, tmp_path)
    assert line == f"grader: {tmp_path}: no report in it. Give the folder that grade --out wrote to."
    assert [*tmp_path.iterdir()] == []


def test_a_report_that_the_summary_names_and_is_gone_is_named(out: Path) -> None:
    (out / "bo" / "report.json").unlink()
    assert f"{out / 'bo' / 'report.json'}: No such file or directory." in refused("report", out)


def test_a_place_that_cannot_be_written_to_is_named(out: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused("report", out, "--out", tmp_path / "file")
    assert f"--out {tmp_path / 'file' / 'students'}: Not a directory. Choose a writable folder" in line


def test_an_option_with_a_wrong_value_is_named(out: Path) -> None:
    line = refused("report", out, "--lang", "fr")
    assert "--lang fr: not a language of the rubric. Choose one of en, zh." in line
    line = refused("report", out, "--handout", "javascript:alert(1)")
    assert "--handout javascript:alert(1): not a URL. Give the parent of en/ and zh/" in line
    assert not (out / "html").exists()


def test_pages_go_beside_the_reports_and_progress_is_shown(tmp_path: Path) -> None:
    out = write(tmp_path / "out", drawn(LINE_EVERY + 1))
    result = command("report", out)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [f"[{LINE_EVERY}/{LINE_EVERY + 1}] pages", "[51/51] pages"]
    assert result.stdout == f"51 students: {out / 'html' / 'index.html'}\n"
    assert len([*(out / "html" / "students").iterdir()]) == 51


def test_only_the_last_run_counts(out: Path, tmp_path: Path) -> None:
    """Of an earlier one, another report lies in the same folder."""
    write(tmp_path / "earlier", [graded("zoe")])
    (tmp_path / "earlier" / "zoe").rename(out / "zoe")
    assert command("report", out).exit_code == 0
    assert not (out / "html" / "students" / "zoe.html").exists()
    assert "zoe" not in command("show", out).stdout


def test_a_student_who_is_gone_leaves_no_page(out: Path) -> None:
    pages = out / "html" / "students"
    pages.mkdir(parents=True)
    for name in ("dora.html", "notes.txt"):
        (pages / name).write_text("of an earlier run")
    assert command("report", out).exit_code == 0
    assert {path.name for path in pages.iterdir()} == {"ada.html", "bo.html", "chen.html", "notes.txt"}


def test_a_run_that_was_stopped_is_shown_as_far_as_it_went(out: Path) -> None:
    (out / "summary.json").unlink()
    assert [line.split()[0] for line in command("show", out).stdout.splitlines()[1:4]] == ["ada", "bo", "chen"]
    assert command("report", out).exit_code == 0
    assert (out / "html" / "students" / "chen.html").exists()


def test_one_submission_is_explained_in_the_terminal(out: Path) -> None:
    result = command("show", out, "bo", "--lang", "zh")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    hint = ASSIGNMENT.rubric.misconception("attention_sees_later_tokens").hint["zh"]
    assert f"{hint}（识别出的错误：attention_sees_later_tokens）" in lines
    place = ASSIGNMENT.rubric.handout_place("attention_causal", "zh")
    assert f"阅读：handout/{place}；公开测试：python -m tests -k attention_causal" in lines
    assert any(line.endswith("（抛出异常，与 swiglu_gate 相同）") for line in lines)
    assert lines[-1].startswith("bo: ")  # the total, after everything that it is made of
    assert lines.count("src/attention.py:54，forward 中：x.sofmax()") == 1


@pytest.mark.parametrize("who", [(), ("bo",), ("chen",)], ids=["class", "graded", "unreadable"])
def test_what_is_around_titles_and_hints_is_chinese_too(out: Path, who: tuple[str, ...]) -> None:
    frame = {"submission", "score", "bonus", "property", "mistake", "mean", "lateness", "outcome", "isolated"}
    frame |= {"exception", "crashed", "failed", "result", "recognised", "read", "try", "unreadable", "properties"}
    told = {lang: command("show", out, *who, "--lang", lang).stdout.lower() for lang in ("en", "zh")}
    assert frame & {*re.findall(r"\w+", told["en"])}
    assert frame & {*re.findall(r"[a-z_]+", told["zh"])} == set()


def test_what_the_terminal_cannot_write_is_replaced(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.TextIOWrapper(written := io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(cli, "choose", lambda _: None)  # the small assignment is chosen
    monkeypatch.setattr(sys, "argv", ["grader", "show", str(out), "ada", "--lang", "zh"])
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    screen.flush()
    assert b"?" in written.getvalue()  # for a title's characters


@pytest.mark.process
def test_whoever_stops_reading_ends_the_command_well(out: Path) -> None:
    """``grader show … | head``."""
    read, write = os.pipe()
    os.close(read)
    show = [sys.executable, "-W", "ignore", "-m", "grader.selftest.command", "show", str(out)]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(show, stdout=closed, stderr=subprocess.PIPE, cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (0, b"")
