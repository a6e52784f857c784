"""What every notebook keeps to, read from its cells: the format of exercises, and two languages that say the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbformat import NotebookNode

MARKERS = ("### BEGIN SOLUTION", "### END SOLUTION", "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
OURS = ("ref", "grader", "src")


def problems(notebook: NotebookNode) -> Iterator[str]:
    """A line for each rule that a notebook breaks."""
    marks = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if "nbgrader" in cell.metadata]
    yield from (f"{mark}: this grade_id stands twice" for mark in sorted({m for m in marks if marks.count(m) > 1}))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield from (f"{cell.id}: {problem}" for problem in _of_code(cell))


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


def differences(one: NotebookNode, other: NotebookNode) -> Iterator[str]:
    """Where two languages of a notebook say different things, as far as a program can tell."""
    if len(one.cells) != len(other.cells):
        yield f"{len(one.cells)} cells against {len(other.cells)}"
    for number, (left, right) in enumerate(zip(one.cells, other.cells, strict=False)):
        if (left.cell_type, left.id, left.metadata) != (right.cell_type, right.id, right.metadata):
            yield f"cell {number}: kind or metadata differ: {left.id}, {right.id}"
        elif left.cell_type == "markdown":
            if _headings(left.source) != _headings(right.source):
                yield f"cell {number}: other headings"
        elif _markers(left.source) != _markers(right.source):
            yield f"cell {number}: other markers"
        elif _bare(left.source) != _bare(right.source):
            yield f"cell {number}: other code"


def _headings(source: str) -> list[int]:
    return [len(line) - len(line.lstrip("#")) for line in source.splitlines() if line.startswith("#")]


def _bare(source: str) -> str:
    """Code without comments and without what is said in words; names such as ``"yarn"`` stay."""
    return ast.dump(_Bare().visit(ast.parse(source)))


class _Bare(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) and _is_text(node.value) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        values = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        return ast.JoinedStr(sorted(values, key=ast.dump))  # languages order their sentences differently


def _is_text(value: str) -> bool:
    return not value.isascii() or " " in value or "\n" in value
