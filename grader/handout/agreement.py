"""Holds the languages together, and both of them to the rubric: what one page says, its twin says as well."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from ..assignment import Rubric, Task
from .pages import BOX, Page

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_REQUIREMENT = re.compile(re.escape(BOX) + r"\*\*(.+?)\*\* · (\d+) (?:points?|分)[.。]")
_ARXIV = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{5})$")


def problems(first: Sequence[Page], second: Sequence[Page], rubric: Rubric) -> Iterator[str]:
    """One line for each place where two languages, the rubric, and the files that are there disagree."""
    for page, twin in zip(first, second, strict=True):
        for what, parts in (("structure", _structure), ("symbols", _symbols), ("numbers", _numbers)):
            if difference := _difference(parts(page), parts(twin)):
                yield f"{page.language} and {twin.language}, {page.name}: {what} differ: {difference}"
    for page in (*first, *second):
        yield from _bad_links(page)
        for task in rubric.tasks:
            if page.name == task.id:
                yield from _bad_requirements(page, task)


def _structure(page: Page) -> list[str]:
    """Every block in order: headings with their level, paragraphs, rows and cells of tables, items of lists."""
    return [f"{number} {token.tag}" for number, token in enumerate(t for t in page.tokens if t.nesting == 1)]


def _symbols(page: Page) -> list[str]:
    """Formulas and code; each once, since sentences are built differently."""
    blocks = [token.content for token in page.tokens if token.type == "math_block"]
    inline = [token.content for token in _inline(page) if token.type in ("math_inline", "code_inline")]
    return sorted({*blocks, *inline})


def _numbers(page: Page) -> list[str]:
    """Numbers outside formulas and code: points, sections, the values of worked examples."""
    return [number for token in _inline(page) if token.type == "text" for number in _NUMBER.findall(token.content)]


def _difference(mine: Sequence[str], other: Sequence[str]) -> str:
    """What one has more often than the other, and the other way round."""
    here, there = Counter(mine) - Counter(other), Counter(other) - Counter(mine)
    return "; ".join(
        f"only {name}: {', '.join(extra.elements())}"
        for name, extra in (("the first", here), ("the second", there))
        if extra
    )


def _bad_links(page: Page) -> Iterator[str]:
    for token in _inline(page):
        target = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if target.startswith("https://"):
            if "arxiv" in target and not _ARXIV.search(target):
                yield f"{page.language}/{page.name}: {target} is no page of an arXiv paper"
        elif target and not (page.folder / target).is_file():
            yield f"{page.language}/{page.name}: {target} leads nowhere"


def _bad_requirements(page: Page, task: Task) -> Iterator[str]:
    """Where the checklist differs from the rubric, line by line."""
    found = [(line[1], float(line[2])) for token in page.tokens if (line := _REQUIREMENT.match(token.content))]
    wanted = [(prop.title[page.language], prop.points) for prop in task.properties]
    if found != wanted:
        lines = [f"{title} · {points:g}" for title, points in found], [f"{t} · {points:g}" for t, points in wanted]
        yield f"{page.language}/{page.name}: the requirements are not the rubric's: {_difference(*lines) or 'order'}"
    if not any(
        token.type == "inline" and f"{task.points:g}" in _NUMBER.findall(token.content) for token in page.tokens[:6]
    ):
        yield f"{page.language}/{page.name}: the first lines do not name the {task.points:g} points"


def _inline(page: Page) -> Iterator[Token]:
    for token in page.tokens:
        yield from token.children or []
