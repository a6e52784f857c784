"""Notebooks from their sources: one percent script in, a notebook in each language out, the same bytes every time.

A script holds its code once, in English. A prose cell names its language, and its twin in the other one follows it. The
words inside the code are in a table beside the script: ``0_name.toml`` for ``0_name.py``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from . import wording

ROOT = Path(__file__).parents[3] / "notebooks"
SOURCES = ROOT / "source"
LANGUAGES = ("en", "zh")  # the first is that of the code
NOTEBOOKS = "[0-9]_*.py"

# Every field of nbgrader's cell metadata; a source states only those in which its cell differs.
NBGRADER_DEFAULTS = {"grade": False, "locked": False, "schema_version": 3, "solution": False, "task": False}

_CHINESE = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_BREAK_IN_CHINESE = re.compile(rf"(?<={_CHINESE})\n(?={_CHINESE})")


def scripts() -> list[Path]:
    """The percent scripts, in the order of the walk-through."""
    return sorted(SOURCES.glob(NOTEBOOKS))


def helpers() -> list[Path]:
    """The modules that the notebooks import; they travel with them."""
    return sorted({*SOURCES.glob("*.py")} - {*scripts()})


def cells(script: Path) -> list[NotebookNode]:
    """The cells of a script as they stand there: prose in every language, code in the first."""
    found: list[NotebookNode] = jupytext.reads(script.read_text(encoding="utf-8"), fmt="py:percent").cells
    return found


def read(script: Path, language: str) -> NotebookNode:
    """The notebook of a percent script in one language: no outputs, every cell with a lasting id."""
    words = {} if language == LANGUAGES[0] else wording.table(script)
    notebook: NotebookNode = nbformat.v4.new_notebook()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.cells = [cell for cell in cells(script) if cell.metadata.pop("lang", language) == language]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"  # where no grade_id gives a better one
        cell.metadata.pop("lines_to_next_cell", None)  # for the way back to a script, which is never taken
        if cell.cell_type == "code":
            cell.source = wording.translated(cell.source, words)
        if "nbgrader" in cell.metadata:
            _complete(cell)
        elif cell.cell_type == "markdown":
            # HTML shows a line break as a space, which Chinese does not have.
            cell.source = _BREAK_IN_CHINESE.sub("", cell.source)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def digest(script: Path) -> str:
    """A digest of a script, of its words, and of the modules that it imports."""
    words = repr(sorted(wording.table(script).items())).encode()
    return hashlib.sha256(b"".join([words, *(path.read_bytes() for path in [script, *helpers()])])).hexdigest()


def _complete(cell: NotebookNode) -> None:
    """Fill in the metadata that nbgrader wants; a checking cell is locked, so that grading restores its text."""
    stated = dict(cell.metadata.nbgrader)
    locked = {"locked": True} if stated.get("grade") else {}
    cell.metadata.nbgrader = NBGRADER_DEFAULTS | locked | stated
    cell.id = stated["grade_id"].replace("_", "-")


def build(language: str, folder: Path, only: str = "") -> list[Path]:
    """Write the notebooks of a language, and the modules they import, into a folder that holds nothing else.

    Args:
        language: One of ``LANGUAGES``.
        folder: Written anew.
        only: The start of the name of the one notebook to build, such as ``"3"``; all if empty.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for helper in helpers():
        shutil.copyfile(helper, folder / helper.name)
    written = []
    for script in scripts():
        if script.name.startswith(only):
            path = folder / f"{script.stem}.ipynb"
            path.write_text(nbformat.writes(read(script, language)) + "\n", encoding="utf-8")
            written.append(path)
    return written
