"""Checks that every notebook follows the rules for the format of exercises and formulas."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from nbformat import NotebookNode

from grader.lab.site import markdown, touch
from grader.lab.site.formulas import UnknownMathematics, mathml

from . import sources

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION", "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
OURS = ("ref", "grader", "src")
_NO_HEADING = re.compile(r"(?m)^#+[^#\s]\S*")  # Jupyter and the handbook make a heading of it


def problems(notebook: NotebookNode) -> Iterator[str]:
    """A line for each rule that a notebook breaks."""
    marks = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    yield from (f"{mark}: duplicate grade_id" for mark in sorted({m for m in marks if marks.count(m) > 1}))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield from (f"{cell.id}: {problem}" for problem in _of_code(cell))
        else:
            yield from (f"{cell.id}: {problem}" for problem in _of_formulas(cell.source))
            prose = re.sub(r"(?s)```.*?```", "", cell.source)
            yield from (f"{cell.id}: a line begins with {start}: a heading" for start in _NO_HEADING.findall(prose))
    shown = {name for cell in notebook.cells for name in touch.MARKER.findall(cell.source)}
    for cell in notebook.cells:
        for words, name, _ in touch.SETTING.findall(cell.metadata.get(sources.IN_HANDBOOK, "")):
            if name not in shown:
                yield f"{cell.id}: {words!r} sets a figure that is not here: {name}"
    for asked, cell in pairwise(notebook.cells):
        if cell.metadata.get("nbgrader", {}).get("solution") and sources.HINT not in asked.source:
            yield f"{cell.id}: the exercise has no hint"


def _of_formulas(source: str) -> Iterator[str]:
    for latex in markdown.formulas(markdown.parser().parse(source)):
        try:
            mathml(latex)
        except UnknownMathematics as error:
            yield str(error)


def _of_code(cell: NotebookNode) -> Iterator[str]:
    role = cell.metadata.get("nbgrader", {})
    markers = _markers(cell.source)
    if role.get("solution"):
        if markers != list(MARKERS[:2]):
            yield "a solution cell has one BEGIN SOLUTION and one END SOLUTION, and no other marker"
    elif role.get("grade"):
        if markers != list(MARKERS[2:]):
            yield "a checking cell has one BEGIN HIDDEN TESTS and one END HIDDEN TESTS, and no other marker"
        if not cell.source.startswith("with quiet():\n") or len(ast.parse(cell.source).body) != 1:
            yield "a checking cell is one `with quiet():` block, so that no warning costs a point"
        visible, _, hidden = cell.source.partition(MARKERS[2])
        if "assert " not in visible or "assert " not in hidden:
            yield "a checking cell asserts before its hidden tests and in them"
    elif markers:
        yield "a marker outside an exercise"
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Constant) and node.value.value:
            yield f"{node.value.value!r} is in braces, where no translation applies"
    for name in _imports(cell.source):
        if name.split(".")[0] in OURS:
            yield f"imports {name}, which students do not have"


def _markers(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines() if line.strip() in MARKERS]


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
