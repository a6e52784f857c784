"""Puts the figures of executed notebooks into those that students receive: pictures alone, no other output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from grader.lab.site.notebooks.pictures import SVG, reworded


def with_figures(released: bytes, executed: bytes, translate: Callable[[str], str]) -> bytes:
    """A released notebook whose cells show what they draw when the exercises are solved.

    Args:
        released: As nbgrader makes it, without any output.
        executed: The same notebook with solutions and outputs; its cells have the same ids.
        translate: Gives the words of a figure in the notebook's language.
    """
    drawn = {cell["id"]: _figures(cell, translate) for cell in json.loads(executed)["cells"] if "outputs" in cell}
    notebook = json.loads(released)
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = drawn.get(cell["id"], [])
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _figures(cell: Mapping[str, Any], translate: Callable[[str], str]) -> list[dict[str, Any]]:
    """The figures among the outputs of a cell."""
    found = ["".join(output["data"][SVG]) for output in cell["outputs"] if SVG in output.get("data", {})]
    return [{"data": {SVG: reworded(svg, translate)}, "metadata": {}, "output_type": "display_data"} for svg in found]
