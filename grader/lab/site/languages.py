"""Whether a text says the same in two languages: its blocks, formulas, code, interactive figures, links and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from grader.lab.site.touch import MARKER

SHOWN = 3  # the most differences of a kind that are reported, since one missing block shifts all later ones
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*", re.ASCII)
_SAID = re.compile(r"\\text\{[^}]*\}|\\q?quad|\\,|\s|[.,]$")  # words and spaces in a formula, which may differ


def disagreements(one: Sequence[Token], other: Sequence[Token], *, inline: bool) -> Iterator[str]:
    """A line for each kind of difference between the same text in two languages.

    With ``inline``, lines of text have the same formulas, code and numbers, too. Otherwise one language may repeat a
    letter, or write a number of one digit as a word, which the other does not.
    """
    here, there = _parts(one, inline), _parts(other, inline)
    for what in here:
        if found := difference(here[what], there[what]):
            yield f"differ in {what}: {found}"


def within(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens of the lines of text."""
    for token in tokens:
        yield from token.children or ()


def difference(one: Sequence[str], other: Sequence[str], names: Sequence[str] = ("the first", "the second")) -> str:
    """What one list has more often than the other, as a text; empty if there is nothing."""
    here, there = Counter(one) - Counter(other), Counter(other) - Counter(one)
    return "; ".join(
        f"only {name}: {', '.join(list(extra.elements())[:SHOWN])}"
        for name, extra in zip(names, (here, there), strict=True)
        if extra
    )


def _parts(tokens: Sequence[Token], inline: bool) -> dict[str, list[str]]:
    """What both languages have alike, by kind."""
    every = (*tokens, *within(tokens))
    kinds = ("math_block", "math_inline_double", *(("math_inline",) if inline else ()))
    formulas = [_SAID.sub("", token.content.strip()) for token in every if token.type in kinds]
    figures = [name for token in tokens if token.type == "html_block" for name in MARKER.findall(token.content)]
    code = [token.content for token in every if token.type == "code_inline" and inline]
    texts = [token.content for token in within(tokens) if token.type == "text"]  # outside formulas and code
    numbers = [number.replace(",", "") for text in texts for number in NUMBER.findall(text)]
    return {
        # Every block in order: headings with their level, paragraphs, rows and cells of tables, items of lists.
        "structure": [f"{number} {token.tag}" for number, token in enumerate(t for t in tokens if t.nesting == 1)],
        "symbols": sorted({*formulas, *figures, *code}),  # each once, since a language may repeat a formula more often
        "links": [str(token.attrs["href"]) for token in within(tokens) if token.type == "link_open"],
        "numbers": numbers if inline else sorted({number for number in numbers if len(number) > 1}),
    }
