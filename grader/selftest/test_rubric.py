"""A rubric that contradicts itself is refused, by the loader and in one line by every command."""

from __future__ import annotations

import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.__main__ import app
from grader.core.assignment import Assignment
from grader.core.rubric import Rubric, RubricError, load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from tests.harness.terminal import end_with

RUBRIC_PATH = ASSIGNMENT.folder / "rubric.toml"


def test_only_keeps_one_task(rubric: Rubric) -> None:
    assert [task.id for task in rubric.only("task2").tasks] == ["task2"]
    assert rubric.only(None) is rubric


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('id = "attention_causal"\n', 'id = "attention_heads"\n', "duplicate id 'attention_heads' .2 times."),
        ('id = "task2"\n', 'id = "task1"\n', "duplicate id 'task1' .2 times."),
        ('properties = ["attention_causal"]', 'properties = ["x"]', "'attention_sees_later_tokens' .*'x'"),
        ('file = "src/attention.py"\n', "", "tasks.0.file: Field required"),
        ("points = 40\n", "points = []\n", "tasks.0.properties.0.points: Input should be a valid number"),
        ('zh = "小', 'fr = "小', "title.zh: Field required"),
        ("points = 40\n", "points 40\n", r"Expected '=' .*line \d+"),
        ("points = 40\n", "points = 38\n", "the tasks without bonus total 98 points; they must total 100"),
        ("[[misconceptions]]", "[[mistakes]]", "misconceptions: Field required"),
        (
            'file = "src/attention.py"\n',
            'file = "src/gone.py"\n',
            "task1 .*'src/gone.py'; there is no .*ref/gone.py",
        ),
        (
            'names = ["SwiGLU"]\n',
            'names = ["SwiGLU"]\nfiles = { Gate = "src/swiglu.py" }\n',
            "task2 gives a file for 'Gate'",
        ),
    ],
    ids=[
        "twice",
        "task_twice",
        "unknown_property",
        "no_file",
        "points_no_number",
        "no_language",
        "no_toml",
        "points_of_98",
        "no_misconceptions",
        "unknown_file",
        "unknown_name",
    ],
)
def test_a_malformed_rubric_is_refused_with_its_file_and_place(tmp_path: Path, old: str, new: str, named: str) -> None:
    text = RUBRIC_PATH.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "rubric.toml"
    broken.write_text(text.replace(old, new, -1 if old.startswith("[[") else 1), encoding="utf-8")
    with pytest.raises(RubricError, match=f"^{re.escape(str(broken))}: .*{named}"):
        load_rubric(broken, ASSIGNMENT.root / "ref")


FAULTS = {"points": ("points = 40\n", "points = 38\n"), "section": ("[[misconceptions]]", "[[mistakes]]"),
          "file": ('file = "src/attention.py"\n', 'file = "src/gone.py"\n')}  # fmt: skip


@pytest.fixture(params=FAULTS)
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A rubric whose points do not add up, that has no misconceptions, or that names an unknown file."""
    (tmp_path / "ref").mkdir()
    (tmp_path / "ref" / "attention.py").touch()
    (tmp_path / "ref" / "swiglu.py").touch()
    path = tmp_path / "grader" / "assignment" / "rubric.toml"
    path.parent.mkdir(parents=True)
    path.write_text(RUBRIC_PATH.read_text(encoding="utf-8").replace(*FAULTS[request.param]), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [c.name or c.callback.__name__ for c in app.registered_commands if c.callback])
def test_every_command_refuses_a_broken_rubric_in_one_line(
    broken: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(lambda _: load_rubric(broken, broken.parents[2] / "ref")))
    result = CliRunner().invoke(app, [command])
    assert (result.exit_code, result.stdout) == (2, "")
    assert_one_line(result.stderr, broken)


TOOLS = ("bench", "gallery", "site.handout", "mutants")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # the engine's own tests may import it, too
def test_every_tool_that_reads_the_rubric_refuses_a_broken_one_in_one_line(
    broken: Path, tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(lambda _: load_rubric(broken, broken.parents[2] / "ref")))
    monkeypatch.setattr(sys, "argv", [tool])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(f"grader.lab.{tool}", run_name="__main__")
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    assert_one_line(printed.err, broken)


@pytest.mark.parametrize("command", ["__main__", "submit"])
def test_students_commands_refuse_a_broken_rubric_in_one_line(
    broken: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_module("tests.harness.rubric").load.__wrapped__, "__defaults__", ((broken,),))
    import_module("tests.harness.rubric").load.cache_clear()
    monkeypatch.setattr("os._exit", sys.exit)
    with pytest.raises(SystemExit, match="2"):
        end_with(import_module(f"tests.{command}").main)
    import_module("tests.harness.rubric").load.cache_clear()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert_one_line(printed.err, broken)


def assert_one_line(printed: str, broken: Path) -> None:
    """Whether that is a single line, which begins with the file."""
    assert printed.startswith(f"{broken}: ")
    assert printed.count("\n") == 1
    assert len(printed) > len(f"{broken}: ") + 20


def test_a_rubric_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "rubric.toml"
    broken.write_bytes(b'id = "\xff"')
    with pytest.raises(RubricError, match="codec can't decode"):
        load_rubric(broken)
