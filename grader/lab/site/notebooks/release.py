"""Searches the notebooks that students get for solutions and hidden tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.lab.release.fingerprints import strings

from .answers import given_away
from .rules import MARKERS
from .sources import helpers


def leaks(release: Path, built: Path) -> Iterator[str]:
    """A line for each unexpected or missing file, each secret line or output, and each answer that is given elsewhere.

    Args:
        release: The folder that students get.
        built: The folder of the notebooks with solutions and hidden tests that it was generated from.
    """
    notebooks = {path.name: nbformat.read(path, as_version=4) for path in sorted(built.glob("*.ipynb"))}
    allowed = {*notebooks, *(helper.name for helper in helpers())}
    secret = secrets(notebooks.values())
    for path in sorted(release.rglob("*")):
        name = path.relative_to(release).as_posix()
        if path.is_file() and name not in allowed:
            yield f"{name}: is not a notebook, nor a module that one imports"
        elif path.is_file():
            yield from (f"{name}: {line}" for line in _in_file(path, secret))
    yield from given_away(notebooks, {path.name: path.read_text(encoding="utf-8") for path in helpers()})
    yield from (f"{name}: is missing" for name in sorted(allowed) if not (release / name).is_file())


def secrets(notebooks: Iterable[NotebookNode]) -> set[str]:
    """The lines of solutions and hidden tests that are nowhere else in the source notebooks."""
    inside: set[str] = set()
    outside: set[str] = set()
    for notebook in notebooks:
        for cell in notebook.cells:
            hidden = False
            for line in map(str.strip, cell.source.splitlines()):
                if line in MARKERS:
                    hidden = line.startswith("### BEGIN")
                elif line:
                    (inside if hidden else outside).add(line)
    return inside - outside


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
