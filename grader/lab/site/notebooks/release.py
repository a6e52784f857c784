"""Searches the notebooks that students get for solutions and hidden tests, and given code for answers."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.lab.fingerprints import SECRET_PART, shape, strings

from . import sources
from .rules import MARKERS


def leaks(release: Path, built: Path) -> Iterator[str]:
    """A line for each unexpected or missing file, each secret line or output, and each answer that is given elsewhere.

    ``built`` is the folder of the notebooks with solutions and hidden tests that the release was generated from.
    """
    notebooks = {path.name: nbformat.read(path, as_version=4) for path in sorted(built.glob("*.ipynb"))}
    allowed = {*notebooks, *(helper.name for helper in sources.helpers())}
    secret = secrets(notebooks.values())
    for path in sorted(release.rglob("*")):
        name = path.relative_to(release).as_posix()
        if path.is_file() and name not in allowed:
            yield f"{name}: is not a notebook, nor a file that one needs"
        elif path.is_file():
            yield from (f"{name}: {line}" for line in _in_file(path, secret))
    yield from given_away(notebooks, {path.name: path.read_text(encoding="utf-8") for path in sources.helpers()})
    yield from (f"{name}: is missing" for name in sorted(allowed) if not (release / name).is_file())


def secrets(notebooks: Iterable[NotebookNode]) -> set[str]:
    """The lines of solutions and hidden tests that are nowhere else in the source notebooks."""
    cells = [cell.source for notebook in notebooks for cell in notebook.cells]
    inside = (part for source in cells for part in SECRET_PART.findall(source))
    outside = (SECRET_PART.sub("", source) for source in cells)
    return _lines(inside) - _lines(outside) - {""}


def _lines(texts: Iterable[str]) -> set[str]:
    return {line.strip() for text in texts for line in text.splitlines()}


def _in_file(path: Path, secret: set[str]) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    pieces = strings(json.loads(text)) if path.suffix == ".ipynb" else [text]
    for line in (line.strip() for piece in pieces for line in piece.splitlines()):
        if line in MARKERS:
            yield f"holds the marker {line!r}"
        elif line in secret:
            yield f"holds the secret line {line!r}"
    if path.suffix == ".ipynb" and any(cell.get("outputs") for cell in nbformat.reads(text, as_version=4).cells):
        yield "holds outputs"


LEAST_NODES = 9  # of an expression's tree; smaller ones say what anybody would


def given_away(notebooks: Mapping[str, NotebookNode], modules: Mapping[str, str]) -> Iterator[str]:
    """A line for each expression of a solution that another notebook, or an imported module, has as given code."""
    asked: dict[str, tuple[str, str]] = {}  # the shape of an expression: the notebook and the exercise that ask for it
    for name, notebook in notebooks.items():
        for cell in notebook.cells:
            if (mark := cell.metadata.get("nbgrader", {})).get("solution"):
                asked |= {shape: (name, mark["grade_id"]) for shape, _ in _shapes(cell.source)}
    given = [(name, text) for name, text in modules.items() if name.endswith(".py")]
    given += [(name, text) for name, notebook in notebooks.items() for text in sources.given(notebook)]
    for name, text in given:
        for found, code in _shapes(text):
            if found in asked and asked[found][0] != name:
                notebook_of, exercise = asked[found]
                yield f"{name}: has {code!r}, which {exercise} in {Path(notebook_of).stem} asks for"


def _shapes(code: str) -> Iterator[tuple[str, str]]:
    """The shape of each larger expression, with any numbers, and its text."""
    for expression in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.expr)):
        if (found := shape(expression, LEAST_NODES, numbers=False)) is not None:
            yield found, ast.unparse(expression)
