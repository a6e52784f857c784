"""The blocks of commands in the documentation: each line is one command, of the program, with options that it has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
import typer.main

from grader import REPOSITORY
from grader.__main__ import app

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "grader" / "docs").glob("*.md")),
]
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
