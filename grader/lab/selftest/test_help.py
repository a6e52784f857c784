"""``--help`` of a maintainers' tool describes it, and starts nothing."""

from __future__ import annotations

import runpy

import pytest

from grader.core import assignment


def started(*_: object) -> None:
    raise AssertionError("the tool started")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test may have imported it
@pytest.mark.parametrize("tool", ["bench", "charges", "gallery", "missing", "mutants", "sample_class"])
@pytest.mark.parametrize(("option", "status"), [("--help", 0), ("--unknown", 2)])
def test_a_tool_prints_its_usage_and_starts_nothing(
    tool: str, option: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(assignment, "rubric_or_exit", started)
    monkeypatch.setattr("tempfile.TemporaryDirectory", started)
    monkeypatch.setattr("grader.specimens.students.write_class", started)
    monkeypatch.setattr("sys.argv", [tool, option])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"grader.lab.{tool}", run_name="__main__")
    assert ended.value.code == status
    output = capsys.readouterr()
    assert "usage: " in (output.err if status else output.out)


def pressed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another test may have imported it
@pytest.mark.parametrize("tool", ["gallery", "mutants", "bench"])
def test_ctrl_c_ends_a_tool_with_one_line(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(assignment, "rubric_or_exit", pressed)
    monkeypatch.setattr("sys.argv", [tool])
    with pytest.raises(SystemExit, match="130"):
        runpy.run_module(f"grader.lab.{tool}", run_name="__main__")
    assert capsys.readouterr().err == "stopped; nothing was written.\n"
