"""One table of notation: every letter in a formula is in it, and has one meaning in a notebook."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

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
    """What a notebook says, without its code."""
    notebook = sources.read(sources.SOURCES / f"{name}.py", language)
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def used(name: str, language: str) -> set[str]:
    """Every letter in the formulas of a notebook, its table of notation apart."""
    text = re.sub(r"`[^`\n]*`", "", ROW.sub("", prose(name, language)))
    return {letter for found in FORMULA.findall(text) for letter in letters("".join(found))}


def notebooks(where: str) -> set[str]:
    """The notebooks of a row: ``all``, ``0 to 5`` or ``0, 7``."""
    if where in ("all", "全部"):
        return {name[0] for name in NAMES}
    first, *last = re.findall(r"\d", where)
    return {str(n) for n in range(int(first), int(last[0]) + 1)} if re.search(r"to|至", where) else {first, *last}


def meanings(language: str) -> Counter[tuple[str, str]]:
    """How many rows of the table give a meaning to a letter in a notebook."""
    found: Counter[tuple[str, str]] = Counter()
    for symbols, where in ROW.findall(prose(NAMES[0], language)):
        found.update((letter, number) for letter in letters(symbols.replace("$", " ")) for number in notebooks(where))
    return found


@pytest.mark.parametrize("language", sources.LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_letter_of_a_formula_has_one_meaning(name: str, language: str) -> None:
    table = meanings(language)
    assert {letter: table[letter, name[0]] for letter in used(name, language) if table[letter, name[0]] != 1} == {}


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_whole_in_brief_takes_letters_as_the_notebooks_that_it_sums_up(language: str) -> None:
    table = meanings(language)
    assert {letter for letter in used(sources.BRIEF, language) if not table[letter, "2"] + table[letter, "5"]} == set()


@pytest.mark.parametrize("name", NAMES)
def test_one_star_is_used_for_conjugates(name: str) -> None:
    assert not re.search(r"\^\{?\\(?:star|ast)", prose(name, "en") + prose(name, "zh"))


@pytest.mark.parametrize("language", sources.LANGUAGES)
def test_the_table_names_no_letter_that_nobody_uses(language: str) -> None:
    everywhere = {(letter, name[0]) for name in NAMES for letter in used(name, language)}
    rows = [(symbols, notebooks(where)) for symbols, where in ROW.findall(prose(NAMES[0], language))]
    assert len(rows) > 30
    idle = [
        letter
        for symbols, numbers in rows
        for letter in letters(symbols.replace("$", " "))
        if not any((letter, number) in everywhere for number in numbers)
    ]
    assert idle == []


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (r"\theta_i = b^{-2i/d}", {r"\theta", "i", "b", "d"}),
        (r"\mathrm{PE}(p) \cdot q^\top", {"p", "q"}),
        (r"\begin{cases} \text{if } x \end{cases}", {"x"}),
    ],
)
def test_letters_are_told_from_words(formula: str, found: set[str]) -> None:
    assert letters(formula) == found
