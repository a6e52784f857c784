"""Checks that a page agrees between languages, and with the rubric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from grader.core.rubric import Rubric, Task
from grader.lab.site import languages

from .pages import BOX, Page

_REQUIREMENT = re.compile(re.escape(BOX) + r"\*\*(.+?)\*\* · (\d+(?:\.\d+)?) (?:points?|分)[.。]")
_TASK = re.compile(r"\[\d\]\(task\d\.md\)")
_ARXIV = re.compile(r"arxiv\.org/abs/\d{4}\.\d{5}v\d+$")  # with its version, since sections are renumbered


def problems(handouts: Mapping[str, Sequence[Page]], rubric: Rubric) -> Iterator[str]:
    """One line for each disagreement of a language with the first, with the rubric, or with files that links name."""
    first, *others = handouts.values()
    for twins in others:
        for page, twin in zip(first, twins, strict=True):
            for line in languages.disagreements(page.tokens, twin.tokens, inline=True):
                yield f"{page.name}: {page.language} and {twin.language} {line}"
    for page in (page for pages in handouts.values() for page in pages):
        yield from _bad_links(page)
        if page.name == "index":
            yield from _bad_table(page, rubric)
        for task in rubric.tasks:
            if page.name == task.id:
                yield from _bad_requirements(page, task)


def _bad_links(page: Page) -> Iterator[str]:
    for name in page.touches:
        if not (page.touch_folder / f"{name}.js").is_file():
            yield f"{page.language}/{page.name}: touch/{name}.js, the script of an interactive figure, is missing"
    for token in languages.within(page.tokens):
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
        lines = ([f"{title} · {points:g}" for title, points in some] for some in (found, wanted))
        why = languages.difference(*lines, names=("on the page", "in the rubric")) or "order"
        yield f"{page.language}/{page.name}: the requirements are not the rubric's: {why}"
    first = [token.content for token in page.tokens[:6] if token.type == "inline"]
    if f"{task.points:g}" not in languages.NUMBER.findall(" ".join(first)):
        yield f"{page.language}/{page.name}: the first lines do not name the {task.points:g} points"
