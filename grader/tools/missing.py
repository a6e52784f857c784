"""``python -m grader.tools.missing``, a part of ``make lint``: what the rubric asks for and nobody has written yet.

Each line names a file and says what to write into it. Files are only read, not run: whether their code is right is for
the tests to find out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ..assignment import ASSIGNMENT
from ..definition import Assignment, rubric_or_exit
from ..rubric import LANGUAGES, Task

MARK = re.compile(r'mark\.rubric\("(\w+)"\)')
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def missing(assignment: Assignment) -> Iterator[str]:
    """One line for each missing solution, stub, export, page, test and variant: the file, and what to write there."""
    for number, task in enumerate(assignment.rubric.tasks, start=1):
        yield from _missing_solution(assignment, task)
        yield from _missing_stub(assignment, task, number)
        yield from _missing_pages(assignment.root / "handout", task)
    yield from _missing_tests(assignment)
    yield from _missing_variants(assignment)


def main() -> int:
    """Print the lines; the exit status is 1 if there are any."""
    rubric_or_exit(ASSIGNMENT)
    lines = list(missing(ASSIGNMENT))
    print("\n".join(lines), end="\n" * bool(lines))
    return bool(lines)


def _missing_solution(assignment: Assignment, task: Task) -> Iterator[str]:
    for name in task.names:
        path = Path("ref", *Path(task.file_of(name)).parts[1:])
        if name not in _definitions(assignment.root / path):
            yield f"{path}: does not define {name}; write the solution of {task.id} there."
        yield from _missing_export(assignment.root, path, name)


def _missing_stub(assignment: Assignment, task: Task, number: int) -> Iterator[str]:
    for name in task.names:
        path = Path(task.file_of(name))
        text = _text(assignment.root / path)
        todo = rf'# TODO\(task {number}\)[^\n]*\n\s+raise NotImplementedError\("Task {number}: {name}\b'
        if not re.search(todo, text):
            yield (
                f"{path}: has no stub of {name}; where its code goes, write `# TODO(task {number}): ...` "
                f'and `raise NotImplementedError("Task {number}: {name}")`.'
            )
        yield from _missing_export(assignment.root, path, name)


def _missing_export(root: Path, path: Path, name: str) -> Iterator[str]:
    """A package with ``__all__`` must list every name that a task asks for."""
    package = path.with_name("__init__.py")
    text = _text(root / package)
    if "__all__" in text and f'"{name}"' not in text:
        yield f"{package}: does not export {name}; import it from .{path.stem} and add it to __all__."


def _missing_pages(handout: Path, task: Task) -> Iterator[str]:
    for language in LANGUAGES:
        page = handout / language / f"{task.id}.md"
        shown, text = page.relative_to(handout.parent), _text(page)
        if not text:
            yield f"{shown}: is missing; write the page of {task.id}, in every language."
        elif absent := [prop.title[language] for prop in task.properties if prop.title[language] not in text]:
            yield f"{shown}: lacks the requirement {absent[0]!r}; add it with its points."
        if f"({task.id}.md)" not in _text(page.with_name("index.md")):
            yield f"{shown.with_name('index.md')}: has no link to {task.id}.md; add a row to the table of tasks."


def _missing_tests(assignment: Assignment) -> Iterator[str]:
    known, public = assignment.rubric.properties, assignment.root / "tests"
    for folder, kind in ((assignment.hidden, "hidden"), (public, "public")):
        shown = (folder / "test_*.py").relative_to(assignment.root)
        marked = {path: set(MARK.findall(_text(path))) for path in sorted(folder.glob("test_*.py"))}
        for path, names in marked.items():
            for name in sorted(names - known.keys()):
                place = path.relative_to(assignment.root)
                yield f'{place}: has the mark rubric("{name}"), which no task in rubric.toml has; add it there.'
        for name in known.keys() - set().union(*marked.values()):
            yield f'{shown}: no {kind} test has the mark rubric("{name}"); write one.'
    for path in sorted(public.glob("test_*.py")):
        for test in ast.parse(_text(path)).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                _, _, second = (ast.get_docstring(test) or "").partition("\n\n")
                if not CHINESE.search(second):
                    spot = f"{path.relative_to(assignment.root)}:{test.lineno}"
                    yield f"{spot}: {test.name} has no law in Chinese; add it as the docstring's second paragraph."


def _missing_variants(assignment: Assignment) -> Iterator[str]:
    folder = assignment.folder / "variants"
    shown = folder.relative_to(assignment.root)
    broken = {name for call in _calls(folder / "wrong") for part in call.keywords for name in _words(part, "breaks")}
    for name in assignment.rubric.properties:
        if name not in broken:
            yield f"{shown}/wrong: no variant breaks {name}; write one that its hidden tests catch."
    right = {text.partition(".")[0] for call in _calls(folder / "valid") for part in call.args for text in _words(part)}
    for task in assignment.rubric.tasks:
        for name in task.names:
            if name not in right:
                yield f"{shown}/valid: no variant of {name}; write one that the hidden tests might catch unfairly."


def _definitions(path: Path) -> set[str]:
    """Classes and functions at the top of a file."""
    return {node.name for node in ast.parse(_text(path)).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _calls(folder: Path) -> Iterator[ast.Call]:
    """All calls in a folder's files."""
    for path in sorted(folder.glob("*.py")):
        yield from (node for node in ast.walk(ast.parse(_text(path))) if isinstance(node, ast.Call))


def _words(part: ast.expr | ast.keyword, keyword: str | None = None) -> list[str]:
    """The words of an argument if it is a string literal; of a keyword argument only if its name is ``keyword``."""
    value = part.value if isinstance(part, ast.keyword) and part.arg == keyword else part
    return value.value.split() if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


def _text(path: Path) -> str:
    """The text of a file; empty if there is no such file."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
