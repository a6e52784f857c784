"""Ctrl-C in a maintainers' tool is no traceback."""

from __future__ import annotations

import runpy

import pytest

from grader.core import assignment


def pressed(*_: object) -> None:
    """Somebody presses Ctrl-C."""
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
