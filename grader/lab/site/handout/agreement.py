"""Checks that a page agrees between languages, and with the rubric."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from markdown_it.token import Token

from grader.core.rubric import Rubric, Task

from .pages import BOX, Page

SHOWN = 3  # the most differences of a kind that are reported, since one missing block shifts all later ones
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_REQUIREMENT = re.compile(re.escape(BOX) + r"\*\*(.+?)\*\* · (\d+) (?:points?|分)[.。]")
_TASK = re.compile(r"\[\d\]\(task\d\.md\)")
_ARXIV = re.compile(r"arxiv\.org/abs/\d{4}\.\d{5}v\d+$")  # with its version, since sections are renumbered


def problems(handouts: Mapping[str, Sequence[Page]], rubric: Rubric) -> Iterator[str]:
    """One line for each disagreement between the languages, with the rubric, or with the files that links name.

    Args:
        handouts: From a language to its pages. Every other language is compared with the first one.
        rubric: The rubric, with the right titles and points.
    """
    first, *others = handouts.values()
    for twins in others:
        for page, twin in zip(first, twins, strict=True):
            yield from _disagreements(page, twin)
    for page in (page for pages in handouts.values() for page in pages):
        yield from _bad_links(page)
        if page.name == "index":
            yield from _bad_table(page, rubric)
        for task in rubric.tasks:
            if page.name == task.id:
                yield from _bad_requirements(page, task)


def _disagreements(page: Page, twin: Page) -> Iterator[str]:
    for what, parts in (("structure", _structure), ("symbols", _symbols), ("numbers", _numbers)):
        if difference := _difference(parts(page), parts(twin)):
            yield f"{page.name}: {page.language} and {twin.language} differ in {what}: {difference}"


def _structure(page: Page) -> list[str]:
    """Every block in order: headings with their level, paragraphs, rows and cells of tables, items of lists."""
    return [f"{number} {token.tag}" for number, token in enumerate(t for t in page.tokens if t.nesting == 1)]


def _symbols(page: Page) -> list[str]:
    """Formulas, code and figures to touch, each once: one language may repeat a formula more often than another."""
    blocks = [token.content for token in page.tokens if token.type == "math_block"]
    inline = [token.content for token in _inline(page) if token.type in ("math_inline", "code_inline")]
    return sorted({*blocks, *inline, *page.touches})


def _numbers(page: Page) -> list[str]:
    """Numbers outside formulas and code: points, sections, the values of worked examples."""
    return [number for token in _inline(page) if token.type == "text" for number in _NUMBER.findall(token.content)]


def _difference(mine: Sequence[str], other: Sequence[str]) -> str:
    """What one list has more often than the other, as a text; empty if there is nothing."""
    here, there = Counter(mine) - Counter(other), Counter(other) - Counter(mine)
    return "; ".join(
        f"only {name}: {', '.join(list(extra.elements())[:SHOWN])}"
        for name, extra in (("the first", here), ("the second", there))
        if extra
    )


def _bad_links(page: Page) -> Iterator[str]:
    for name in page.touches:
        if not (page.touch_folder / f"{name}.js").is_file():
            yield f"{page.language}/{page.name}: touch/{name}.js, the script of an interactive figure, is missing"
    for token in _inline(page):
        target = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if target.startswith("https://"):
            if "arxiv" in target and not _ARXIV.search(target):
                yield f"{page.language}/{page.name}: {target} is not a version of an arXiv paper"
        elif target and not (page.folder / target).is_file():
            yield f"{page.language}/{page.name}: {target} does not exist"


def _bad_table(page: Page, rubric: Rubric) -> Iterator[str]:
    """A line if the table of tasks, with a row for each name that a task asks for, differs from the rubric."""
    cells = [token.content for before, token in pairwise(page.tokens) if before.type == "td_open"]
    rows = [cells[start : start + 4] for start, cell in enumerate(cells) if _TASK.match(cell)]
    found = [(row[0].partition("]")[0], row[1], row[2]) for row in rows]
    wanted = [
        (f"[{number}", f"`{name}`", f"`{task.file_of(name)}`")
        for number, task in enumerate(rubric.tasks, start=1)
        for name in task.names
    ]
    if found != wanted:
        yield f"{page.language}/{page.name}: the table of tasks does not list the rubric's tasks"
    for number, task in enumerate(rubric.tasks, start=1):
        points = sum(float(row[3]) for row in rows if row[0].startswith(f"[{number}]"))
        if points != task.points:
            yield f"{page.language}/{page.name}: task {number} has {points:g} points, {task.points:g} in the rubric"


def _bad_requirements(page: Page, task: Task) -> Iterator[str]:
    """A line if the list of requirements on a task's page differs from the rubric."""
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
