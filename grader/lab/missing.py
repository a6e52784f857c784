"""``python -m grader.lab.missing``, run by ``make lint``: lists parts that the rubric requires but are missing.

Each line names a file and what to write into it. Files are read, not run; tests check their code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import typer

from grader import PACKAGE
from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.cli.terminal import in_one_line
from grader.core.messages import read_words
from grader.core.results.views import tables
from grader.core.rubric import LANGUAGES, Task

MARK = re.compile(r'mark\.rubric\("(\w+)"\)')
BREAKS, VALID = re.compile(r'\bbreaks="([^"]*)"'), re.compile(r'@valid\("(\w+)')
CHINESE = re.compile(r"[\u4e00-\u9fff]")
FIELD = re.compile(r"\{(\w+)\}")
Import = tuple[str, tuple[str, str]]
STATED = re.compile(r"(?:\b\w+ ?= ?)?\{\w+\}")  # a field, alone or as name=field: the same in every language


def missing(assignment: Assignment) -> Iterator[str]:
    """One line for each missing solution, stub, export, page, test, variant or phrase: the file, and what to write."""
    for number, task in enumerate(assignment.rubric.tasks, start=1):
        yield from _missing_code(assignment, task, number)
        yield from _missing_pages(assignment.root / "handout", task)
    yield from _missing_tests(assignment)
    yield from _missing_variants(assignment)
    yield from missing_phrases(assignment)


def main() -> None:
    """Print the lines; the exit status is 1 if there are any."""
    lines = list(missing(ASSIGNMENT))
    print("\n".join(lines), end="\n" * bool(lines))
    raise typer.Exit(bool(lines))


def _missing_code(assignment: Assignment, task: Task, number: int) -> Iterator[str]:
    """The solution and the stub of each name that a task requires."""
    for name in task.names:
        stub = Path(task.file_of(name))
        solution = Path("ref", *stub.parts[1:])
        if name not in _definitions(assignment.root / solution):
            yield f"{solution}: does not define {name}; add the solution of {task.id}."
        todo = rf'# TODO\(task {number}\)[^\n]*\n\s+raise NotImplementedError\("Task {number}: {name}\b'
        if not re.search(todo, _text(assignment.root / stub)):
            yield (
                f"{stub}: has no stub of {name}; at its place, write `# TODO(task {number}): ...` "
                f'and `raise NotImplementedError("Task {number}: {name}")`.'
            )
        for path in (solution, stub):
            yield from _missing_export(assignment.root, path, name)


def _missing_export(root: Path, path: Path, name: str) -> Iterator[str]:
    """A package with ``__all__`` must list every name that a task requires."""
    package = path.with_name("__init__.py")
    text = _text(root / package)
    if "__all__" in text and f'"{name}"' not in text:
        yield f"{package}: does not export {name}; import it from .{path.stem} and add it to __all__."


def _missing_pages(handout: Path, task: Task) -> Iterator[str]:
    for language in LANGUAGES:
        page = handout / language / f"{task.id}.md"
        shown, text = page.relative_to(handout.parent), _text(page)
        if not text:
            yield f"{shown}: missing; write the page of {task.id} in every language."
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
                yield f'{place}: has the mark rubric("{name}"), but rubric.toml lacks it; add it, or delete the test.'
        for name in known.keys() - set().union(*marked.values()):
            yield f'{shown}: no {kind} test has the mark rubric("{name}"); write one.'
    for path in sorted(public.glob("test_*.py")):
        for test in ast.parse(_text(path), path).body:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                _, _, second = (ast.get_docstring(test) or "").partition("\n\n")
                if not CHINESE.search(second):
                    spot = f"{path.relative_to(assignment.root)}:{test.lineno}"
                    yield f"{spot}: {test.name} has no law in Chinese; add it as the docstring's second paragraph."


def _missing_variants(assignment: Assignment) -> Iterator[str]:
    folder = assignment.folder / "corpus" / "variants"
    shown = folder.relative_to(assignment.root)
    wrong, valid = ("\n".join(map(_text, sorted((folder / kind).glob("*.py")))) for kind in ("wrong", "valid"))
    broken = " ".join(BREAKS.findall(wrong)).split()
    for name in assignment.rubric.properties:
        if name not in broken:
            yield f"{shown}/wrong: no variant breaks {name}; write one that its hidden tests catch."
    right = VALID.findall(valid)
    for task in assignment.rubric.tasks:
        for name in task.names:
            if name not in right:
                yield f"{shown}/valid: no variant of {name}; write one that the hidden tests might catch unfairly."


def missing_phrases(assignment: Assignment) -> Iterator[str]:
    """One line for each message without Chinese, and for each unused phrase."""
    files = [*_product(PACKAGE, "assignment", "examples"), *_product(assignment.folder)]
    nodes = {path: [*ast.walk(ast.parse(_text(path), path))] for path in files}  # once: a walk of the grader takes long
    tabled = [(path, *phrase) for path in tables(assignment) for phrase in read_words(path).items()]
    chinese = {english: text for _, english, text in tabled}
    constants = {path: _constants(nodes[path][0]) for path in files}
    modules = {path: path.parent.name if path.stem == "__init__" else path.stem for path in files}
    everywhere = {(modules[path], name): value for path in files for name, value in constants[path].items()}
    for path in files:
        imported = [*_imported(nodes[path])]
        known = constants[path] | {name: everywhere[at] for name, at in imported if at in everywhere}
        for call in _said(nodes[path], imported):
            place = f"{_shown(path, assignment)}:{call.lineno}"
            templates = _templates(call.args[0], known)
            if not templates:
                yield f"{place}: unreadable template; pass say() a literal or a module constant."
            for text in templates:
                if text not in chinese and any(map(str.isalpha, STATED.sub("", text))):
                    yield f"{place}: no Chinese for {text!r}; add it to chinese.toml."
    used = {node.value for found in nodes.values() for node in found if isinstance(node, ast.Constant)}
    for path, english, text in tabled:
        if {*FIELD.findall(english)} != {*FIELD.findall(text)}:
            yield f"{_shown(path, assignment)}: {english!r} has different fields in Chinese; use the same ones."
        if english not in used:
            yield f"{_shown(path, assignment)}: {english!r} is unused; remove it."


def _product(folder: Path, *without: str) -> list[Path]:
    """The Python files below a folder, except in ``selftest`` and in folders named in ``without``."""
    files = sorted(folder.rglob("*.py"))
    return [path for path in files if not {"selftest", *without} & {*path.relative_to(folder).parts}]


def _shown(path: Path, assignment: Assignment) -> Path:
    return path.relative_to(assignment.root if path.is_relative_to(assignment.root) else PACKAGE.parent)


def _constants(module: ast.AST) -> dict[str, ast.expr]:
    """The values of a module's top-level names."""
    found: dict[str, ast.expr] = {}
    for node in ast.iter_child_nodes(module):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    return found


def _imported(nodes: Iterable[ast.AST]) -> Iterator[Import]:
    """Each name that a file imports, with the last part of its module's name and its name there."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").rpartition(".")[2]
            yield from ((alias.asname or alias.name, (module, alias.name)) for alias in node.names)


def _said(nodes: Iterable[ast.AST], imported: Iterable[Import]) -> Iterator[ast.Call]:
    """The calls of ``say``, if a file imports it from ``grader.core.messages`` or ``grader.testing``."""
    if {("say", ("messages", "say")), ("say", ("testing", "say"))} & {*imported}:
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                yield node


def _templates(node: ast.expr, constants: Mapping[str, ast.expr]) -> list[str]:
    """All possible values of an expression; none if it is not made of literals and constants."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)) if name in constants:
            return _templates(constants[name], constants)
        case ast.IfExp(body=one, orelse=other):
            options = [one, other]
        case ast.Dict(values=options):
            pass
        case _:
            return []
    texts = [_templates(option, constants) for option in options]
    return [text for each in texts for text in each] if all(texts) else []


def _definitions(path: Path) -> set[str]:
    """Classes and functions at the top of a file."""
    return {node.name for node in ast.parse(_text(path), path).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _text(path: Path) -> str:
    """The text of a file; empty if there is no such file."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    typer.run(in_one_line(main))
