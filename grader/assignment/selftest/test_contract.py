"""What the stubs promise the reference keeps: names, arguments, defaults, docstrings; and no library does a task."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.extras.similarity.library import library_use

STUBS, REFERENCE = ASSIGNMENT.stubs(), ASSIGNMENT.solution()
paths = pytest.mark.parametrize("path", sorted(STUBS))


def promises(text: str) -> list[tuple[str, ...]]:
    """Every class and function of a file but private helpers: its name, its bases or signature, its docstring."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            found.append((node.name, *map(ast.unparse, node.bases), ast.get_docstring(node) or ""))
        elif isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
            returns = ast.unparse(node.returns) if node.returns else ""
            found.append((node.name, ast.unparse(node.args), returns, ast.get_docstring(node) or ""))
    return found


def test_the_reference_has_the_same_files() -> None:
    assert STUBS.keys() == REFERENCE.keys()


@paths
def test_stub_and_reference_promise_the_same(path: str) -> None:
    assert promises(STUBS[path]) == promises(REFERENCE[path])


@paths
def test_every_stub_does_nothing_but_raise(path: str) -> None:
    functions = [node for node in ast.walk(ast.parse(STUBS[path])) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        *before, last = [ast.unparse(statement) for statement in function.body[1:]]  # the docstring comes first
        assert last.startswith("raise NotImplementedError(")
        assert before == (["super().__init__()"] if function.name == "__init__" else [])


@paths
def test_the_stubs_know_neither_reference_nor_grader(path: str) -> None:
    imports = [node for node in ast.walk(ast.parse(STUBS[path])) if isinstance(node, (ast.Import, ast.ImportFrom))]
    absolute = {
        name.split(".")[0]
        for node in imports
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if isinstance(node, ast.Import) or node.level == 0
    }
    assert absolute <= {"torch", "collections", "typing"}


RUBRIC = ASSIGNMENT.rubric


@pytest.mark.parametrize("files", [ASSIGNMENT.solution(), ASSIGNMENT.stubs()], ids=["reference", "stubs"])
def test_reference_and_stubs_use_no_library_for_a_task(files: dict[str, str]) -> None:
    assert [use for path, text in files.items() for use in library_use(path, text, RUBRIC)] == []


@pytest.mark.slow
def test_variants_that_lean_on_a_library_are_found_and_no_others() -> None:
    leans = cache(lambda path, text: bool(library_use(path, text, RUBRIC)))  # most files are the reference's
    found = {v.name for v in all_variants() if any(leans(path, text) for path, text in v.files.items())}
    spelled = re.compile(r"\bnn\.(?:RMSNorm|Embedding|functional\.rms_norm)[()]")  # as variants do, without aliases
    assert found == {v.name for v in all_variants() if any(map(spelled.search, v.files.values()))}
    assert any("library_rms_norm_on_groups" in name for name in found)
