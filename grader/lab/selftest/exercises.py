"""Runs the checks of one exercise of a notebook on an answer, in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any
from unittest import mock

from grader.lab.site.notebooks import execute, rules, sources
from grader.lab.site.notebooks.submissions import unneeded

EXERCISES = {  # by their numbers: the stem of the notebook's file, and the ``grade_id`` of the cell for the answer
    f"{script.stem[0]}.{number}": (script.stem, name)
    for script in sources.scripts()
    for number, name in enumerate(re.findall(r'"grade_id": "(\w+)", "solution": true', script.read_text("utf-8")), 1)
}


@cache
def cells(notebook: str) -> dict[str, str]:
    """The code cells of a notebook, by id."""
    parts = execute.code_cells(sources.read(sources.SOURCES / f"{notebook}.py", "en"))
    return {part.metadata.get("nbgrader", {}).get("grade_id", part.id): part.source for part in parts}


def check(
    notebook: str, exercise: str, answer: str, *, hidden: bool = False, handed: Callable[[Any], Any] = lambda text: text
) -> None:
    """Run the checks of an exercise on an answer, after those given cells that they need.

    Args:
        notebook: The stem of its file.
        exercise: The ``grade_id`` of its cell.
        answer: The text of that cell.
        hidden: Whether the hidden tests run after the ones that a student sees.
        handed: What becomes of the answer's function before the checks see it.
    """
    texts = cells(notebook)
    laws = texts[f"{exercise}_laws"]
    laws = laws if hidden else laws.partition(f"    {rules.MARKERS[2]}")[0]
    before = [text for _, text in takewhile(lambda part: part[0] != exercise, texts.items())]
    run = dict(enumerate([*before, answer, laws]))
    names: dict[str, Any] = {}
    with (
        mock.patch.object(sys, "path", [str(sources.SOURCES), *sys.path]),
        mock.patch.dict("os.environ", MPLBACKEND="agg"),  # figures open no window
    ):
        for number in sorted(run.keys() - unneeded(run, range(len(before)))):
            exec(compile(run[number], exercise, "exec"), names)
            if run[number] is answer:
                names[exercise] = handed(names[exercise])
