"""What a person sees at a terminal: the moving bar, and how a command ends, also where a package is missing."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader import REPOSITORY
from grader.__main__ import app
from grader.core.cli import show
from grader.core.cli import terminal as command_line
from grader.core.cli.show import print_class, print_report, print_statistics
from grader.core.cli.terminal import ending, follow, needing
from grader.core.results.database import LedgerError
from grader.core.results.outcome import Outcome
from grader.core.results.statistics import class_statistics, entry
from grader.core.run.schedule import GradingFailed
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import graded
from grader.selftest.term import lab_tool, refused


@pytest.mark.parametrize(("terminal", "parts"), [(True, ("grading", "2/3")), (False, ("[1/3] a told", "[2/3] b told"))])
def test_progress_says_what_is_done(terminal: bool, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    monkeypatch.setattr(command_line, "ERR", screen)
    assert list(follow(iter("ab"), "grading", 3, "{} told".format)) == ["a", "b"]
    shown = screen.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    assert all(part in shown for part in parts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_the_terminal(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = dict.fromkeys(ASSIGNMENT.rubric.properties, Outcome.CRASHED) | {"swiglu_gate": Outcome.MISSING}
    report = graded("a name of some length", lost, language=language)
    screen = Console(file=io.StringIO(), force_terminal=True, width=60)
    monkeypatch.setattr(show, "OUT", screen)
    print_report(report, ASSIGNMENT.rubric, language)
    standing = entry(report)
    print_class([standing], language)
    print_statistics(class_statistics([standing]), ASSIGNMENT.rubric, language, {})
    lines = Text.from_ansi(screen.file.getvalue()).plain.splitlines()  # type: ignore[attr-defined] # a StringIO
    assert len(lines) > 20
    assert [line for line in lines if cell_len(line) > 60] == []


@pytest.mark.parametrize(
    ("stops", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "stopped."),
        (PermissionError(13, "Permission denied", "a/report.json"), 2, "a/report.json: Permission denied."),
        (LedgerError("a: is damaged."), 2, "a: is damaged."),
        (GradingFailed("3 judges failed"), 3, "3 judges failed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_stops_a_command_is_one_line(
    stops: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In any command, also in one that expects nothing of the kind."""

    def read(*_: object) -> None:
        raise stops

    monkeypatch.setattr(show, "read_graded", read)
    assert refused("show", tmp_path, code=code) == f"grader: {line}"


def test_an_error_of_no_file_is_ours_and_keeps_its_traceback() -> None:
    with pytest.raises(OSError, match="no memory"), ending():
        raise OSError("no memory")


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
    code, _, line = lab_tool(capsys, "site.notebooks.__main__")
    assert (code, line.count("\n")) == (2, 1)
    assert line.startswith("notebooks: nbformat is not installed. ")
    assert line.endswith("pip install -e '.[grader,handout,notebooks]'\n")


PAGES = [*map(REPOSITORY.joinpath, ("README.md", "CONTRIBUTING.md")), *sorted(REPOSITORY.glob("grader/docs/*.md"))]
BLOCK = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined] # a group, which has them
SEPARATORS = frozenset(("&&", "||", ";", "|", "do", "done"))


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each call of the grader: the page, and its words."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.replace("\\\n", " ").splitlines():
                words = list(shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True))
                starts = [at for at, word in enumerate(words) if word == "grader" and at + 1 < len(words)]
                for start in starts:
                    end = next((at for at in range(start, len(words)) if words[at] in SEPARATORS), len(words))
                    yield page.name, words[start:end]


@pytest.mark.parametrize(("page", "words"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_a_command_in_the_documentation_is_one_that_the_program_takes(page: str, words: list[str]) -> None:
    _, name, *arguments = words
    options = {flag for parameter in COMMANDS[name].params for flag in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in arguments if word.startswith("--")} <= options
    assert "grader" not in arguments, f"{page}: two commands on one line"


def test_the_readme_shows_the_three_commands_of_an_assistant() -> None:
    assert [words[1] for page, words in commands() if page == "README.md"] == ["grade", "review", "return"]
