"""Checks that both languages of a notebook agree: paragraphs, formulas, links, numbers, and words in code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from nbformat import NotebookNode

from . import sources, wording

# The kind of a paragraph, recognised by its beginning; any other is a plain paragraph.
_KINDS = (
    ("heading", re.compile(r"(#+) ")),
    ("formula", re.compile(r"\$\$")),
    ("table", re.compile(r"\|")),
    ("hint", re.compile("Hint: |提示：")),
    ("list", re.compile(r"(?:[-*]|\d+\.) ")),
)
_CITED = re.compile(r"\]\(([^)\s]+)\)")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", re.ASCII)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_SAID = re.compile(r"\\text\{[^}]*\}|\\q?quad|\\,|\s|[.,]$")  # words and spaces in a formula, which may differ


def problems(script: Path) -> Iterator[str]:
    """A line for each difference between the two languages of a script."""
    cells = sources.cells(script)
    yield from _prose(cells)
    yield from _words(cells, wording.table(script))
    yield from _figures(cells, wording.in_figures(script))


def _prose(cells: Sequence[NotebookNode]) -> Iterator[str]:
    """A line for each prose cell without a twin in the other language, and for each difference between twins."""
    waiting: list[NotebookNode] = []
    for cell in [*cells, None]:
        if waiting and (cell is None or cell.cell_type != "markdown" or len(waiting) == len(sources.LANGUAGES)):
            languages = tuple(one.metadata.get("lang") for one in waiting)
            name = f"prose cell {waiting[0].source.splitlines()[0][:60]!r}"
            if languages != sources.LANGUAGES:
                yield f"{name}: in {languages}; expected one cell in each of {sources.LANGUAGES}, in that order"
            else:
                yield from (f"{name}: {line}" for line in _differences(waiting[0].source, waiting[1].source))
            waiting = []
        if cell is not None and cell.cell_type == "markdown":
            waiting.append(cell)


def _differences(one: str, other: str) -> Iterator[str]:
    """A line for each difference between two texts: in paragraphs, formulas, links and numbers."""
    pairs = list(zip_longest(_blocks(one), _blocks(other), fillvalue=("nothing", "")))
    for (kind, text), (other_kind, other_text) in pairs:
        if kind != other_kind:
            yield f"{kind} {text[:40]!r} has no twin, but {other_kind} {other_text[:40]!r}"
            return
    for formula, twin in zip(_DISPLAYED.findall(one), _DISPLAYED.findall(other), strict=True):
        if _SAID.sub("", formula.strip()) != _SAID.sub("", twin.strip()):
            yield f"formula differs from {formula.strip()[:60]!r}"
    if sorted(_CITED.findall(one)) != sorted(_CITED.findall(other)):
        yield f"other links: {sorted({*_CITED.findall(one)} ^ {*_CITED.findall(other)})}"
    if more := _numbers(one) ^ _numbers(other):
        yield f"other numbers: {', '.join(sorted(more))}"


def _numbers(source: str) -> set[str]:
    """The numbers of two digits or more, except in links; a language may write smaller ones as words."""
    found = _NUMBER.findall(_CITED.sub("]", source).replace("{,}", ","))
    return {number for number in (one.replace(",", "") for one in found) if len(number) > 1}


def _blocks(source: str) -> list[tuple[str, str]]:
    """The paragraphs of a cell, each with its kind."""
    found = []
    for text in re.split(r"\n\n+", source.strip()):
        kind, pattern = next(((kind, p) for kind, p in _KINDS if p.match(text)), ("paragraph", None))
        if kind == "heading" and pattern is not None and (level := pattern.match(text)):
            kind = f"heading of level {len(level[1])}"
        elif kind in ("list", "table"):
            kind = f"{kind} of {len(_items(text, kind))}"
        found.append((kind, text))
    return found


def _items(text: str, kind: str) -> list[str]:
    pattern = r"(?m)^\|" if kind == "table" else r"(?m)^(?:[-*]|\d+\.) "
    return re.findall(pattern, text)


def _words(cells: Sequence[NotebookNode], words: dict[str, str]) -> Iterator[str]:
    """A line for each text in the code without a translation, unused translation, and differing placeholder."""
    pieces = [piece for cell in cells if cell.cell_type == "code" for piece in wording.pieces(cell.source)]
    missing = dict.fromkeys(piece.text for piece in pieces if piece.spoken and piece.text not in words)
    yield from (f"no Chinese for the {text!r} of the code" for text in missing)
    stale = words.keys() - {piece.text for piece in pieces}
    yield from (f"no {text!r} in the code, which the table translates" for text in sorted(stale))
    formatted = {piece.text for piece in pieces if piece.kind == "formatted"} & words.keys()
    for text in sorted(formatted):
        if wording.placeholders(text) != wording.placeholders(words[text]):
            yield f"{text!r}: other placeholders in {words[text]!r}"


def _figures(cells: Sequence[NotebookNode], words: dict[str, str]) -> Iterator[str]:
    """A line for each translation of what no figure says, and for each differing placeholder; a key is one line."""
    texts = [piece.text for cell in cells if cell.cell_type == "code" for piece in wording.pieces(cell.source)]
    lines = {line for text in texts for line in text.split("\n")}
    yield from (
        f"no {text!r} in the code, which [{wording.FIGURES}] translates" for text in sorted(words.keys() - lines)
    )
    for text, other in words.items():
        if wording.placeholders(text) != wording.placeholders(other):
            yield f"{text!r}: other placeholders in {other!r}"
