"""Finds the answer to an exercise in the given code of another notebook, which students have from the first day."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from nbformat import NotebookNode

LEAST_NODES = 9  # of an expression's tree; smaller ones say what anybody would


def given_away(notebooks: Mapping[str, NotebookNode], modules: Mapping[str, str]) -> Iterator[str]:
    """A line for each expression of a solution that another notebook, or a module that one imports, has as given code.

    Args:
        notebooks: The notebooks with solutions, by file name.
        modules: The texts of the modules, by file name.
    """
    asked: dict[str, tuple[str, str]] = {}  # the shape of an expression: the notebook and the exercise that ask for it
    for name, notebook in notebooks.items():
        for cell in notebook.cells:
            if (mark := cell.metadata.get("nbgrader", {})).get("solution"):
                asked |= {shape: (name, mark["grade_id"]) for shape, _ in _shapes(cell.source)}
    given = [(name, text) for name, text in modules.items()]
    given += [(name, cell.source) for name, notebook in notebooks.items() for cell in notebook.cells if _given(cell)]
    for name, text in given:
        for shape, code in _shapes(text):
            if shape in asked and asked[shape][0] != name:
                notebook_of, exercise = asked[shape]
                yield f"{name}: has {code!r}, which {exercise} in {Path(notebook_of).stem} asks for"


def _given(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and "nbgrader" not in cell.metadata


def _shapes(code: str) -> Iterator[tuple[str, str]]:
    """The tree of each larger expression, with names and numbers left out, and its text."""
    for expression in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.expr)):
        nodes = [n for n in ast.walk(expression) if not isinstance(n, ast.expr_context | ast.operator | ast.unaryop)]
        if len(nodes) >= LEAST_NODES:
            names: dict[str, int] = {}
            yield " ".join(_part(node, names) for node in nodes), ast.unparse(expression)


def _part(node: ast.AST, names: dict[str, int]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Name):
        return f"{kind} {names.setdefault(node.id, len(names))}"
    if isinstance(node, ast.Attribute):
        return f"{kind} {node.attr}"
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return f"{kind} {type(node.op).__name__}"
    return f"{kind} {node.value!r}" if isinstance(node, ast.Constant) and isinstance(node.value, str) else kind
