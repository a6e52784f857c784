"""Puts figures that can be touched into a page: their places, scripts, and the numbers that cells hand over."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from nbformat import NotebookNode

from . import sources

NUMBERS = "application/vnd.touch+json"  # as `to_touch` in notebooks/source/figures.py writes it

_MARKER = re.compile(r"<!-- touch: (\w+) -->")


def taken(notebook: NotebookNode) -> dict[str, object]:
    """Take the numbers for figures out of a notebook's outputs: the name of each figure with what it needs."""
    found: dict[str, object] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found |= output.get("data", {}).get(NUMBERS, {})
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if NUMBERS not in output.get("data", {})]
    return found


def placed(content: str) -> str:
    """A page's content with an empty figure in place of each marker."""
    return _MARKER.sub(r'<figure class="touch" data-touch="\1"></figure>', content)


def script(content: str, numbers: Mapping[str, object]) -> str:
    """The script for the figures that a page's content marks; empty if it marks none."""
    names = [*dict.fromkeys(_MARKER.findall(content))]
    if not names:
        return ""
    parts = [(sources.TOUCHES / f"{name}.js").read_text(encoding="utf-8") for name in ("base", *names)]
    given = json.dumps(numbers, separators=(",", ":")).replace("</", "<\\/")
    return "".join([parts[0], f"touch.data = {given};\n", *parts[1:], "touch.start();\n"])
