"""One file holds tasks, points and hints; stubs, laws and handed-out points agree with it."""

from __future__ import annotations

import re

from grader.assignment import ASSIGNMENT
from grader.core.rubric import LANGUAGES, Rubric

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
