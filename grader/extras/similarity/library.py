"""Finds library calls that may solve a task, in the syntax tree; nothing is imported or run.

Whatever a library's name is called later, it has to be written once: in an import, behind a dot, or as a text for
``getattr``. A student who wants to hide a call can compute the name; this finds the calls of students who did not know
that they are not allowed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from grader import SUBMITTED
from grader.core.rubric import Rubric
from grader.shared.source_rules import nodes_of

MAX_SHOWN: Final = 120  # characters of a line of source, or of a name
IMPORTING: Final = ("import_module", "__import__")


class Unparsed(Exception):
    """The file has no syntax tree."""


@dataclass(frozen=True)
class Finding:
    """One place for manual review.

    Attributes:
        name: What is used, such as ``Linear``, or the module that is imported.
        task: The id of the task that the name alone may solve; empty for an import that the rubric does not allow.
        code: The line of source text.
        more: How many further places there are in the file, about the same task or about no task.
    """

    path: str
    line: int
    name: str
    task: str
    code: str
    more: int = 0


def first_of_each(found: Iterable[Finding]) -> Iterator[Finding]:
    """The first place in each file, for each task and for imports: thousands of one kind say no more than that."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for one in found:
        kinds.setdefault((one.path, one.task), []).append(one)
    yield from (replace(some[0], more=len(some) - 1) for some in kinds.values())


def library_use(path: str, text: str, rubric: Rubric) -> list[Finding]:
    """The findings in one file, in the order of lines; each name is reported once per line.

    Raises:
        Unparsed: If Python cannot parse the file, or it is too long to have been written by hand.
    """
    if not (nodes := nodes_of(text)):
        raise Unparsed
    found = {*_imports(nodes, rubric), *_uses(nodes, rubric)}
    shown = [line.strip()[:MAX_SHOWN] for line in text.split("\n")]
    return [Finding(path, line, name[:MAX_SHOWN], task, shown[line - 1]) for line, name, task in sorted(found)]


Place = tuple[int, str, str]  # line, name, task


def _imports(nodes: Sequence[ast.AST], rubric: Rubric) -> Iterator[Place]:
    """Imports of modules that are neither Python's own, nor in the rubric's ``imports``, nor the student's files."""
    allowed = {*sys.stdlib_module_names, *rubric.imports, SUBMITTED}
    for node in nodes:
        match node:
            case ast.Import():
                modules = [alias.name for alias in node.names]
            case ast.ImportFrom(level=0, module=str(module)):
                modules = [module]
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]
            ) if name in IMPORTING:
                modules = [module]
            case _:
                continue
        yield from ((node.lineno, name, "") for name in modules if name.partition(".")[0] not in allowed)


def _uses(nodes: Sequence[ast.AST], rubric: Rubric) -> Iterator[Place]:
    """Places that write a name that the rubric lists under a task's ``library``, unless it is the student's own."""
    tasks = {name: task.id for task in rubric.tasks for name in task.library}
    bound = {name for node in nodes for name in _bound(node)}
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if node.level > 0 or str(node.module).partition(".")[0] == SUBMITTED]
    ours = {"self", SUBMITTED}.union(*map(_bound, own))
    for node in nodes:
        match node:
            case ast.ImportFrom(level=0, module=str(module)) if module.partition(".")[0] in rubric.imports:
                names = [alias.name for alias in node.names]
            case ast.Attribute(value=ast.Name(id=name)) if name in ours:
                continue
            case ast.Attribute(attr=name):
                names = [name]
            case ast.Name(id=name) if name not in bound:  # it comes with a star
                names = [name]
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                names = [name]
            case _:
                continue
        yield from ((node.lineno, name, tasks[name]) for name in names if name in tasks)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a definition, an import or an assignment gives."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            yield from (alias.asname or alias.name for alias in node.names)
