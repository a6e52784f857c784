"""What is not installed is named in one line, with the extra that brings it, and ends a command with 2."""

from __future__ import annotations

import runpy
import sys

import pytest
import typer

from grader.core.cli.terminal import needing


def test_a_missing_package_is_named_with_its_extra(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, needing("grader,handout", "release"):
        raise ModuleNotFoundError("No module named 'latex2mathml'", name="latex2mathml")
    assert ended.value.exit_code == 2
    line = "grader: latex2mathml is not installed. Install what release needs: pip install -e '.[grader,handout]'\n"
    assert capsys.readouterr().err == line


def test_a_module_of_ours_that_is_missing_is_our_own_fault() -> None:
    with pytest.raises(ModuleNotFoundError, match="of ours"), needing("grader,handout", "release"):
        raise ModuleNotFoundError("of ours", name="grader.lab.gone")


def test_the_notebooks_commands_name_the_extra_that_they_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nbformat", None)
    monkeypatch.delitem(sys.modules, "grader.lab.site.notebooks.__main__", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("grader.lab.site.notebooks.__main__", run_name="__main__")
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("notebooks: nbformat is not installed. ")
    assert line.endswith("pip install -e '.[grader,handout,notebooks]'")
