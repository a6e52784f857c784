"""Runs a notebook in a new kernel, and collects its errors."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from traitlets.config.loader import PyFileConfigLoader

from . import sources
from .submissions import unneeded

WIDEST = 110  # characters of a printed line, of which the handbook shows no more where it is widest
# One thread for every library: more would slow each other down on a busy machine.
KERNEL_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# Figures as PNG, for a notebook, and as SVG, for the handbook; the same figure has the same bytes at any time.
FIGURES = ["--InlineBackend.figure_formats={'png', 'svg'}"]
FIGURE_ENVIRONMENT = {"MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")), "SOURCE_DATE_EPOCH": "0"}


@cache
def nbgrader() -> Any:
    """The settings of nbgrader, which hold here, too: the stub of an exercise, a cell's time limit, quiet kernels."""
    return PyFileConfigLoader("nbgrader_config.py", str(sources.ROOT)).load_config()


def execute(notebook: NotebookNode, folder: Path, go_on: bool = False) -> NotebookNode:
    """Run every cell in a new kernel, in the folder of the modules that it imports; returns the notebook with outputs.

    With ``go_on``, the cells after a failing one run, too.
    """
    if not code_cells(notebook):
        return notebook
    client = NotebookClient(
        notebook,
        timeout=nbgrader().Execute.timeout,
        kernel_name="python3",
        allow_errors=go_on,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=nbgrader().Execute.extra_arguments + FIGURES,
    )
    with contextlib.suppress(CellExecutionError):  # the cell's outputs hold the error
        client.execute(env=os.environ | KERNEL_ENVIRONMENT | FIGURE_ENVIRONMENT)
    return notebook


def complaints(notebook: NotebookNode) -> Iterator[str]:
    """A line for each exception that a cell raised, for what it wrote to stderr, and for a line too wide for a page."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"{cell.id}: {output.ename}: {output.evalue}"
            elif output.output_type == "stream" and output.name == "stderr":
                yield f"{cell.id}: stderr: {output.text.strip().splitlines()[-1]}"
            elif output.output_type == "stream":
                widths = [sum(1 + (east_asian_width(one) in "FW") for one in line) for line in output.text.splitlines()]
                if (width := max(widths, default=0)) > WIDEST:
                    yield f"{cell.id}: prints a line of {width} characters; a page shows {WIDEST}"


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells of a notebook."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def save(notebook: NotebookNode, path: Path) -> None:
    """Write an executed notebook, and each of its figures beside it as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    for stale in path.parent.glob(f"{path.stem}-*.png"):
        stale.unlink()
    outputs = (output for cell in code_cells(notebook) for output in cell.outputs)
    images = (output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    for number, image in enumerate(images, 1):
        path.with_name(f"{path.stem}-{number}.png").write_bytes(base64.b64decode(image))


def cleared(notebook: NotebookNode) -> NotebookNode:
    """The notebook itself, with its solutions replaced by stubs; hidden tests and outputs stay."""
    from nbgrader.preprocessors import ClearSolutions  # takes seconds, and only a released notebook is cleared

    ClearSolutions(config=nbgrader()).preprocess(notebook, {})  # in place
    return notebook


def blank_passes(notebook: NotebookNode, folder: Path) -> Iterator[str]:
    """A line for each check that passes although every exercise is still a stub; it runs what grading runs."""
    code = {number: cell.source for number, cell in enumerate(cleared(notebook).cells) if cell.cell_type == "code"}
    shown = unneeded(code, [number for number in code if "nbgrader" not in notebook.cells[number].metadata])
    notebook.cells = [cell for number, cell in enumerate(notebook.cells) if number not in shown]
    for cell in code_cells(execute(notebook, folder, go_on=True)):
        failed = any(output.output_type == "error" for output in cell.outputs)
        if cell.metadata.get("nbgrader", {}).get("grade") and not failed:
            yield f"{cell.id}: passes although the exercise is blank"
