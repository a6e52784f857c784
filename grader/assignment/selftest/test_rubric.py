"""One file holds tasks, points and hints; stubs, hidden tests, public tests and handed-out points agree with it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.rubric import LANGUAGES, Rubric

REPOSITORY = ASSIGNMENT.root

# From the table that is published with the assignment.
POINTS = {
    "task1": [8, 5, 3, 3, 1, 5, 4, 2, 1, 4, 6],
    "task2": [7, 4, 3, 1, 3, 4],
    "task3": [7, 7, 4, 5, 3, 1, 1, 4, 4],
    "task4": [5, 4, 2, 4, 1, 3, 5, 4, 8, 5, 5, 4],
}


def marked_properties(folder: Path) -> set[str]:
    """The properties named by ``pytest.mark.rubric(...)`` in decorators of the tests of a folder."""
    calls = (
        call
        for path in folder.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        for call in ast.walk(decorator)
    )
    return {
        str(call.args[0].value)
        for call in calls
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "pytest.mark.rubric"
        and isinstance(call.args[0], ast.Constant)
    }


def test_every_property_is_worth_what_the_assignment_says(rubric: Rubric) -> None:
    assert {task.id: [prop.points for prop in task.properties] for task in rubric.tasks} == POINTS


def test_tasks_1_to_3_add_up_to_100_and_the_bonus_to_50(rubric: Rubric) -> None:
    assert sum(task.points for task in rubric.tasks if not task.bonus) == 100
    assert sum(task.points for task in rubric.tasks if task.bonus) == 50


@pytest.mark.parametrize("folder", ["grader/assignment/hidden", "tests"])
def test_exactly_the_properties_of_the_rubric_are_tested(rubric: Rubric, folder: str) -> None:
    assert marked_properties(REPOSITORY / folder) == set(rubric.properties)


def test_every_stub_names_its_task_in_the_comment_and_in_the_error(rubric: Rubric) -> None:
    """``TODO(task n)`` and ``NotImplementedError("Task n: Class.method")`` stand together, in the task's own file."""
    found = set()
    for path, text in ASSIGNMENT.stubs().items():
        for comment, error in re.findall(r"# TODO\((.*?)\).*\n\s+raise NotImplementedError\((.*?)\)", text):
            number, name = re.fullmatch(r'"Task (\d+): (\w+)[.\w]*"', error).groups()  # type: ignore[union-attr] # fails
            assert comment == f"task {number}", f"{path}: {error}"
            found.add((f"task{number}", name, path))
    home = {"apply_rotary_pos_emb": "src/functional.py"}  # the one name outside its task's file
    assert found == {(task.id, name, home.get(name, task.file)) for task in rubric.tasks for name in task.names}


def test_no_todo_stands_without_its_error() -> None:
    text = "".join(ASSIGNMENT.stubs().values())
    assert text.count("TODO(") == text.count("raise NotImplementedError(") == 12


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
