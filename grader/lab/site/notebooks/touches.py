"""The numbers that cells of a notebook pass to interactive figures."""

from __future__ import annotations

from nbformat import NotebookNode

NUMBERS = "application/vnd.touch+json"  # as `to_touch` in notebooks/source/figures.py writes it


def taken(notebook: NotebookNode) -> dict[str, object]:
    """Take the numbers for figures out of a notebook's outputs: the name of each figure with what it needs."""
    found: dict[str, object] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found |= output.get("data", {}).get(NUMBERS, {})
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if NUMBERS not in output.get("data", {})]
    return found
