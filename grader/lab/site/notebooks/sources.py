"""Builds a notebook in each language from one percent script; the same script always gives the same bytes.

A script holds its code once, in English. A prose cell in one language is followed by its twin, the same text in the
other language. A table beside the script, such as ``0_name.toml``, translates comments and strings of the code.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tomllib
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from grader import REPOSITORY
from grader.lab.site import touch
from grader.lab.site.markdown import unbroken

from . import wording

ROOT = REPOSITORY / "notebooks"
SOURCES = ROOT / "source"
LANGUAGES = ("en", "zh")  # the code is written in the first one
TOUCHES = SOURCES / "touch"  # interactive figures, in JavaScript
NOTEBOOKS = "[0-9]_*.py"
# Pages of the handbook without exercises, of which students get no notebook: the whole on one page, and a tool.
BRIEF, TOOL = "brief", "configs"

# Default of every field of nbgrader's cell metadata; a script gives only fields with another value.
NBGRADER_DEFAULTS = {"grade": False, "locked": False, "schema_version": 3, "solution": False, "task": False}

IN_HANDBOOK = "handbook"  # key in a cell's metadata: its text with the words that set a figure, which Jupyter lacks

HINT = "<details class=hint>"  # without quotes, which the handbook would make curly
HINTS = re.compile(r"(?m)^(Hint|提示)(?:: |：)(.+(?:\n.+)*)")


def scripts() -> list[Path]:
    """The percent scripts, in the order of the walk-through."""
    return sorted(SOURCES.glob(NOTEBOOKS))


def pages() -> list[Path]:
    """The percent scripts of which the handbook has a page: the walk-through, the whole in brief, and the tool."""
    return [*scripts(), *(path for name in (BRIEF, TOOL) for path in SOURCES.glob(f"{name}.py"))]


def helpers() -> list[Path]:
    """The modules that notebooks import, and the numbers that these read; they are copied wherever notebooks are."""
    return sorted({*SOURCES.glob("*.py"), *SOURCES.glob("*.json")} - {*pages()})


def front() -> dict[str, Any]:
    """The contents of ``title.toml``, whose comments say what each is for; findings and a way may be missing."""
    return {"findings": {}, "way": []} | tomllib.loads((SOURCES / "title.toml").read_text(encoding="utf-8"))


def emblem(stem: str) -> str:
    """The small picture beside a notebook's title in the handbook, as SVG; empty if it has none."""
    path = SOURCES / "emblems" / f"{stem}.svg"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def cells(script: Path) -> list[NotebookNode]:
    """All cells of a script: prose in every language, code in the first one."""
    return deepcopy(_cells(script.read_text(encoding="utf-8")))


@cache
def _cells(text: str) -> list[NotebookNode]:
    """The cells of a text, which is read once for all languages and checks: that takes a tenth of a second."""
    found: list[NotebookNode] = jupytext.reads(text, fmt="py:percent").cells
    return found


def read(script: Path, language: str) -> NotebookNode:
    """The notebook of a percent script in one language, without outputs; a cell's id is the same in every build."""
    words = {} if language == LANGUAGES[0] else wording.table(script)
    notebook: NotebookNode = nbformat.v4.new_notebook()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.cells = [cell for cell in cells(script) if cell.metadata.pop("lang", language) == language]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"  # replaced below if the cell has a grade_id
        cell.metadata.pop("lines_to_next_cell", None)  # only needed to turn a notebook into a script
        if cell.cell_type == "code":
            cell.source = wording.translated(cell.source, words)
        if "nbgrader" in cell.metadata:
            _complete(cell)
        elif cell.cell_type == "markdown":
            text = folded(unbroken(cell.source))
            cell.source = touch.SETTING.sub(r"\1", text)  # Jupyter has no figure that words could set
            if text != cell.source:
                cell.metadata[IN_HANDBOOK] = text
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def folded(text: str) -> str:
    """A text with its hints, each of them a paragraph, folded away and numbered."""
    number = count(1)
    return HINTS.sub(
        lambda found: f"{HINT}<summary>{found[1]} {next(number)}</summary>\n\n{found[2]}\n\n</details>", text
    )


def given(notebook: NotebookNode) -> list[str]:
    """The texts of the code cells that belong to no exercise."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code" and "nbgrader" not in cell.metadata]


def digest(script: Path) -> str:
    """A digest of a script, of its table of translations, and of the modules that it imports."""
    words = repr(sorted(wording.table(script).items())).encode()
    return hashlib.sha256(b"".join([words, *(path.read_bytes() for path in [script, *helpers()])])).hexdigest()


def _complete(cell: NotebookNode) -> None:
    """Fill in the metadata that nbgrader needs; a checking cell is locked, so that grading restores its text."""
    stated = dict(cell.metadata.nbgrader)
    locked = {"locked": True} if stated.get("grade") else {}
    cell.metadata.nbgrader = NBGRADER_DEFAULTS | locked | stated
    cell.id = stated["grade_id"].replace("_", "-")


def build(language: str, folder: Path) -> list[Path]:
    """Write the walk-through's notebooks, and the modules they import, into a folder whose old content is deleted."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for helper in helpers():
        shutil.copyfile(helper, folder / helper.name)
    written = []
    for script in scripts():
        written.append(folder / f"{script.stem}.ipynb")
        written[-1].write_text(nbformat.writes(read(script, language)) + "\n", encoding="utf-8")
    return written
