"""One file holds tasks, points and hints; stubs, laws and handed-out points agree with it, and stubs with reference.

What the stubs promise the reference keeps: names, arguments, defaults, docstrings; and no library does a task.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.rubric import LANGUAGES, Rubric
from grader.extras.similarity.library import library_use

STUBS, REFERENCE = ASSIGNMENT.stubs(), ASSIGNMENT.solution()
paths = pytest.mark.parametrize("path", sorted(STUBS))

# From the table that is published with the assignment.
POINTS = {
    "task1": [8, 5, 3, 3, 1, 5, 4, 2, 1, 4, 6],
    "task2": [7, 4, 3, 1, 3, 4],
    "task3": [7, 7, 4, 5, 3, 1, 1, 4, 4],
    "task4": [5, 4, 2, 4, 1, 3, 5, 4, 8, 5, 5, 4],
}


def test_every_property_is_worth_what_the_assignment_says(rubric: Rubric) -> None:
    assert {task.id: [prop.points for prop in task.properties] for task in rubric.tasks} == POINTS


def test_every_stub_names_its_task_in_the_comment_and_in_the_error(rubric: Rubric) -> None:
    """``TODO(task n)`` and ``NotImplementedError("Task n: Class.method")`` stand together, in the name's own file."""
    found = []
    for path, text in ASSIGNMENT.stubs().items():
        stubs = re.findall(r'# TODO\((task \d+)\).*\n\s+raise NotImplementedError\("Task (\d+): (\w+)[.\w]*"\)', text)
        assert len(stubs) == text.count("TODO(") == text.count("raise NotImplementedError("), path
        assert [comment for comment, _, _ in stubs] == [f"task {number}" for _, number, _ in stubs]
        found += [(f"task{number}", name, path) for _, number, name in stubs]
    assert len(found) == 12
    assert {*found} == {(task.id, name, task.file_of(name)) for task in rubric.tasks for name in task.names}


def test_every_title_and_hint_differs_between_languages(rubric: Rubric) -> None:
    texts = [text for prop in rubric.properties.values() for text in (prop.title, prop.hint)]
    texts += [misconception.hint for misconception in rubric.misconceptions]
    for text in texts:
        translations = {text[language] for language in LANGUAGES}
        assert len(translations) == len(LANGUAGES), text
        assert all(translations), text
        assert re.search(r"[\u4e00-\u9fff]", text["zh"]), text


def test_every_property_has_a_law_in_every_language() -> None:
    assert ASSIGNMENT.laws.keys() == ASSIGNMENT.rubric.properties.keys()
    for law in ASSIGNMENT.laws.values():
        assert law.keys() == set(LANGUAGES)
        assert re.search(r"[\u4e00-\u9fff]", law["zh"]), law
        assert "{" not in law["en"] + law["zh"], law  # the numbers of a case are for make test, which fills them in


# ── What the stubs promise ────────────────────────────────────────────────────────────────────────────────────────────


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


@pytest.mark.parametrize("files", [ASSIGNMENT.solution(), ASSIGNMENT.stubs()], ids=["reference", "stubs"])
def test_reference_and_stubs_use_neither_another_library_nor_a_function_that_does_a_task(files: dict[str, str]) -> None:
    assert [use for path, text in files.items() for use in library_use(path, text, ASSIGNMENT.rubric)] == []


@pytest.mark.slow
def test_variants_that_lean_on_a_library_are_found_and_no_others() -> None:
    leans = cache(lambda path, text: bool(library_use(path, text, ASSIGNMENT.rubric)))  # most files are the reference's
    found = {v.name for v in all_variants() if any(leans(path, text) for path, text in v.files.items())}
    spelled = re.compile(r"\bnn\.(?:RMSNorm|Embedding|functional\.rms_norm)[()]")  # as variants do, without aliases
    assert found == {v.name for v in all_variants() if any(map(spelled.search, v.files.values()))}
    assert any("library_rms_norm_on_groups" in name for name in found)
