"""Computes reading times of notebooks, whole and by the shortcut: code that the handbook folds away takes none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nbformat import NotebookNode

from grader.lab.site import touch

# Minutes for one of each, for a reader who meets this for the first time and solves the exercises. (Two who knew
# most of it took close to ten hours.) What the handbook folds away takes none.
WORD, FORMULA, LINE, POINT, TOUCH = 1 / 180, 1 / 2, 1 / 20, 6, 1  # the last is an interactive figure
ROUND_TO = 5

_FORMULA = re.compile(r"\$\$.+?\$\$", re.DOTALL)
_DETAILS = re.compile(r"<details.*?</details>", re.DOTALL)
_HEADING = r"(?m)^#{1,3} "

SOLUTION = "# A solution"  # the first line of a cell that shows one

_FOLDED = {  # what the page folds away, by what its code shows
    "figure": re.compile(r"(?s).*(?:plt\.show|to_touch)\("),
    "set-up": re.compile(r"(?:import|from)\b"),
    "checks": re.compile(r"with quiet\(\):"),
    "solution": re.compile(rf"{SOLUTION}\n"),
}


def minutes(notebook: NotebookNode, *, short: bool = False) -> int:
    """The time for a notebook in English, or for its shortcut, rounded to five minutes; no section takes none."""
    cells = [cell for flagged, section in _sections(notebook) for cell in section if flagged or not short]
    return ROUND_TO * max(round(sum(map(_minutes, cells)) / ROUND_TO), bool(cells))


def of_section(notebook: NotebookNode, heading: str) -> float:
    """The minutes for the section whose heading begins with these words; 0 if there is none."""
    headed = re.compile(_HEADING + re.escape(heading))
    found = (section for _, section in _sections(notebook) if headed.search(section[0].source))
    return sum(map(_minutes, next(found, ())))


def points(notebook: NotebookNode) -> dict[str, float]:
    """The points of a notebook's checking cells, by ``grade_id``; an exercise may have two."""
    roles = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return {role["grade_id"]: float(role["points"]) for role in roles if role.get("grade")}


def folded(code: str) -> str:
    """What a cell that the page folds away does, such as ``figure`` or ``checks``; empty for others."""
    lines = code.splitlines()
    claims = 2 * sum("assert " in line for line in lines) >= len(lines) > 1
    return next((kind for kind, shows in _FOLDED.items() if shows.match(code)), "claims" if claims else "")


def _sections(notebook: NotebookNode) -> Iterator[tuple[bool, Sequence[NotebookNode]]]:
    """The cells from each heading to the next, and whether the heading is on the shortcut."""
    cells = enumerate(notebook.cells)
    starts = [i for i, cell in cells if cell.cell_type == "markdown" and re.search(_HEADING, cell.source)]
    for start, end in zip(starts, [*starts[1:], len(notebook.cells)], strict=True):
        yield bool(notebook.cells[start].metadata.get("short")), notebook.cells[start:end]


def _minutes(cell: NotebookNode) -> float:
    role = cell.metadata.get("nbgrader", {})
    if cell.cell_type == "markdown":
        text = _DETAILS.sub("", cell.source)
        figures = len(touch.MARKER.findall(text)) * TOUCH
        return len(_FORMULA.sub("", text).split()) * WORD + len(_FORMULA.findall(text)) * FORMULA + figures
    if role.get("grade"):
        return int(role["points"]) * POINT
    return 0.0 if role.get("solution") or folded(cell.source) else len(cell.source.split("\n")) * LINE
