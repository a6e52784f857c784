"""Tools for maintainers: ``missing`` finds messages without Chinese and idle phrases; ``--help`` describes each."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.cli.terminal import in_one_line
from grader.core.results import views
from grader.lab import missing
from grader.selftest.submissions import write_folder
from grader.selftest.term import lab_tool

HIDDEN, WORDS, TABLE = (f"grader/assignment/{name}" for name in ("hidden/test_a.py", "model/words.py", "chinese.toml"))
ENGINE = "grader/core/results/chinese.toml"
IMPORTS = "from grader.core.messages import say\n"
TOOLS = ("bench", "charges", "gallery", "missing", "mutants", "sample_class")
Complaints = Callable[..., list[str]]


@pytest.fixture
def complaints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Complaints:
    """What is said of a grader with two tables, and an assignment with one file that has messages."""
    monkeypatch.setattr(missing, "PACKAGE", tmp_path / "grader")
    monkeypatch.setattr(views, "CHINESE", tmp_path / ENGINE)
    monkeypatch.setattr(views, "PACKAGE", tmp_path / "grader")
    copy = replace(ASSIGNMENT, folder=tmp_path / "grader" / "assignment", root=tmp_path)

    def found(says: str, phrases: Mapping[str, str], words: str = "", imports: str = IMPORTS) -> list[str]:
        lines = "".join(f"{json.dumps(english)} = {json.dumps(chinese)}\n" for english, chinese in phrases.items())
        files = {HIDDEN: imports + says, WORDS: words, TABLE: lines, ENGINE: ""}
        write_folder(tmp_path, files)
        return list(missing.missing_phrases(copy))

    return found


def test_a_syntax_error_is_told_in_one_line(
    complaints: Complaints, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        in_one_line(lambda: print(complaints("def (", {}, imports="")))()
    assert capsys.readouterr().err == f"grader: {tmp_path / HIDDEN}:1: invalid syntax. Correct the file.\n"


@pytest.mark.parametrize(
    "says",
    [
        'say("{n} are wrong", n=1)',
        'TEXT = "{n} are " "wrong"\nsay(TEXT, n=1)',
        "from ..model.words import TEXT\nsay(TEXT, n=1)",
        'say(TEXTS["one"], n=1)\nTEXTS = {"one": "{n} are wrong", "other": "{n}"}',
        'say("{n} are wrong" if True else "{n}", n=1)',
    ],
    ids=["literal", "constant", "import", "table", "condition"],
)
def test_a_template_needs_its_chinese(says: str, complaints: Complaints) -> None:
    words = 'TEXT = "{n} are wrong"\n' if "import" in says else ""
    (line,) = complaints(says, {}, words)
    assert line.startswith(f"{HIDDEN}:")
    assert line.endswith("no Chinese for '{n} are wrong'; add it to chinese.toml.")
    assert complaints(says, {"{n} are wrong": "{n} 个不对"}, words) == []


@pytest.mark.parametrize("text", ["{what}: {problem}", "b={b}, s = {s}", "\\n  {path}:{line}"])
def test_fields_and_their_names_read_the_same_in_every_language(text: str, complaints: Complaints) -> None:
    assert complaints(f'say("{text}")', {}) == []


def test_a_template_that_cannot_be_read_is_named(complaints: Complaints) -> None:
    for says in ('say(f"{1} are wrong")', "def told(text): say(text)", "say(UNKNOWN)"):
        assert complaints(says, {}) == [f"{HIDDEN}:2: unreadable template; pass say() a literal or a module constant."]


def test_another_function_of_that_name_may_say_anything(complaints: Complaints) -> None:
    assert complaints("say('{n} are wrong')", {}, imports="from .terminal import say\n") == []


def test_a_phrase_that_nothing_says_is_named(complaints: Complaints) -> None:
    assert complaints("", {"{n} are wrong": "{n} 个不对"}) == [f"{TABLE}: '{{n}} are wrong' is unused; remove it."]


def test_the_chinese_has_the_same_fields(complaints: Complaints) -> None:
    assert complaints('say("{n} are wrong", n=1)', {"{n} are wrong": "{m} 个不对"}) == [
        f"{TABLE}: '{{n}} are wrong' has different fields in Chinese; use the same ones."
    ]


def started(*_: object) -> None:
    raise AssertionError("the tool started")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test may have imported it
@pytest.mark.parametrize(
    ("tool", "option", "status"),
    [
        *((tool, option, status) for tool in TOOLS for option, status in (("--help", 0), ("--unknown", 2))),
        ("sample_class", ".", 2),  # a folder that exists
    ],
)
def test_a_tool_prints_its_usage_and_starts_nothing(
    tool: str, option: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(started))
    monkeypatch.setattr("tempfile.TemporaryDirectory", started)
    monkeypatch.setattr("grader.specimens.students.write_class", started)
    code, *printed = lab_tool(capsys, tool, option)
    assert code == status
    assert "usage: " in printed[bool(status)].lower()


def pressed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test may have imported it
@pytest.mark.parametrize("tool", ["gallery", "mutants", "bench"])
def test_ctrl_c_ends_a_tool_with_one_line(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(pressed))
    code, _, err = lab_tool(capsys, tool)
    assert (code, err) == (130, "grader: stopped.\n")


ALONE, TRACE = "[ -z $VIRTUAL_ENV$PYTHONPATH$MAKEFLAGS ]", "Traceback (most recent call last):"


def walked(folder: Path, made: str, run: str) -> subprocess.CompletedProcess[str]:
    """The walk with a ``make`` that is these lines of shell; the Python of its environments is those of ``run``."""
    place = "for word; do case $word in VENV=*) VENV=${word#*=};; esac; done; mkdir -p $VENV/bin"
    make = f"#!/bin/bash\n{place}; cp {folder}/python $VENV/bin\n{made}\n"
    write_folder(folder, {"make": make, "python": f"#!/bin/sh\n{run}\n"})
    for name in ("make", "python"):
        (folder / name).chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS"):
        surroundings[name] = "elsewhere"
    command = [REPOSITORY / ".ci" / "walk"]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("made", "run", "wrong"),
    [
        ("echo 0 / 100; [ $1 = test ]", "echo 0 / 100", {"make setup": "exit status 1, not 0"}),
        ("[ $1 = test ]", "echo 0 / 100", {"make setup": "", "make test": "its output lacks '0 / 100'"}),
        ("[ $1 = test ] && echo 0 / 100", "echo 0 / 100; exit 3", {"make setup": "", "python": "exit status 3, not 0"}),
        ("[ $1 = test ] && echo 0 / 100", f"echo '0 / 100 {TRACE}'", {"make setup": "", "python": "a traceback"}),
        (f"echo 0 / 100; [ $1 = test ] && {ALONE}", "echo 0 / 100", {"make setup": "exit status 1, not 0"}),
    ],
    ids=["failed", "silent", "status", "traceback", "surroundings"],
)
def test_each_step_that_fails_is_shown_and_counted_and_the_rest_is_tried(
    made: str, run: str, wrong: dict[str, str], tmp_path: Path
) -> None:
    done = walked(tmp_path, made, run)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert done.returncode == 1
    assert len(failed) == len(wrong), done.stdout
    assert all(any(command in line and line.endswith(why) for line in failed) for command, why in wrong.items())
    assert sum(line.startswith("ok") for line in done.stdout.splitlines()) == 3 - len(wrong)
    assert f"{len(wrong)} failed;" in done.stdout
    assert not [*tmp_path.glob("walk-*")]
