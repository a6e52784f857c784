"""One table of notation, in AUTHORING.md: every letter in a formula is in it, and has one meaning in a notebook."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from grader.lab.site.notebooks import sources

FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL)
ROW = re.compile(r"^\| ((?:\$[^$]+\$(?:, )?)+) \| .+ \| ([^|]+) \|$", re.MULTILINE)
NOT_LETTERS = re.compile(r"\\(?:text|texttt|mathrm|begin|end)\{[^{}]*\}|\\mathbb [A-Z]")
GREEK = "alpha beta gamma delta varepsilon eta theta kappa lambda nu xi pi Pi rho sigma varphi psi omega Delta ell"
LETTER = re.compile(rf"\\(?:{'|'.join(GREEK.split())})(?![A-Za-z])|\\[A-Za-z]+|[A-Za-z]")
NAMES = [script.stem for script in sources.scripts()]


def letters(formula: str) -> set[str]:
    """The letters of a formula, Greek ones by their command; commands and words are none."""
    found = set(LETTER.findall(NOT_LETTERS.sub(" ", formula)))
    return {one for one in found if len(one) == 1 or one[1:] in GREEK.split()}


@cache
def prose(name: str, language: str) -> str:
    notebook = sources.read(sources.SOURCES / f"{name}.py", language)
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def used(name: str, language: str) -> set[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(name, language))
    return {letter for found in FORMULA.findall(text) for letter in letters("".join(found))}


def notebooks(where: str) -> set[str]:
    """The notebooks of a row: ``all``, ``0 to 5`` or ``0, 7``."""
    if where == "all":
        return {name[0] for name in NAMES}
    first, *last = re.findall(r"\d", where)
    return {str(n) for n in range(int(first), int(last[0]) + 1)} if "to" in where else {first, *last}


@cache
def table() -> list[tuple[set[str], set[str]]]:
    """The letters and the notebooks of each row."""
    text = (sources.SOURCES.parent / "AUTHORING.md").read_text(encoding="utf-8")
    return [(letters(symbols.replace("$", " ")), notebooks(where)) for symbols, where in ROW.findall(text)]


def meanings() -> Counter[tuple[str, str]]:
    return Counter((letter, number) for symbols, numbers in table() for letter in symbols for number in numbers)


@pytest.mark.parametrize("language", sources.LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_letter_of_a_formula_has_one_meaning(name: str, language: str) -> None:
    found = meanings()
    assert {letter: found[letter, name[0]] for letter in used(name, language) if found[letter, name[0]] != 1} == {}


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_whole_in_brief_takes_letters_as_the_notebooks_that_it_sums_up(language: str) -> None:
    found = meanings()
    assert {letter for letter in used(sources.BRIEF, language) if not found[letter, "2"] + found[letter, "5"]} == set()


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_table_names_no_letter_that_nobody_uses(language: str) -> None:
    everywhere = {(letter, name[0]) for name in NAMES for letter in used(name, language)}
    assert len(table()) > 30
    idle = [one for symbols, numbers in table() for one in symbols if not any((one, n) in everywhere for n in numbers)]
    assert idle == []
