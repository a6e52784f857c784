"""Checks that both languages of a notebook agree: blocks, formulas, links, numbers, hints, and words in code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nbformat import NotebookNode

from grader.lab.site import languages, markdown

from . import sources, wording


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
            found = tuple(one.metadata.get("lang") for one in waiting)
            name = f"prose cell {waiting[0].source.splitlines()[0][:60]!r}"
            if found != sources.LANGUAGES:
                yield f"{name}: in {found}; expected one cell in each of {sources.LANGUAGES}, in that order"
            else:
                texts = [twin.source for twin in waiting]
                tokens = [markdown.parser().parse(text) for text in texts]
                yield from (f"{name}: languages {line}" for line in languages.disagreements(*tokens, inline=False))
                if len({*map(sources.hints, texts)}) > 1:
                    yield f"{name}: languages differ in hints"
            waiting = []
        if cell is not None and cell.cell_type == "markdown":
            waiting.append(cell)


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
