"""Finds library calls that may solve a task, in the syntax tree; nothing is imported or run.

Names are followed through imports, assignments and ``getattr`` with a literal. A student who wants to hide a call can
do so; this finds the calls of students who did not know that they are not allowed.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from grader import SUBMITTED
from grader.core.messages import say
from grader.core.rubric import Rubric

from .code import MAX_CHARACTERS

ROUNDS: Final = 3  # the longest chain of assignments that is followed: a = b, b = c, c = d
MAX_PARTS: Final = 8  # of a dotted name, which bounds the work on hostile text
MAX_SHOWN: Final = 120
MAX_NAME: Final = 200  # characters of a dotted name; a file of ever the same long one would fill the memory


class Unparsed(Exception):
    """The file has no syntax tree; the argument is a message with the reason."""


@dataclass(frozen=True)
class Finding:
    """One place for manual review.

    Attributes:
        name: What is used, such as ``torch.nn.Linear``.
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
    if len(text) > MAX_CHARACTERS:
        raise Unparsed(say("{path}: {n} characters", path=path, n=len(text)))
    try:
        with warnings.catch_warnings(action="ignore"):  # such as the warning of an invalid escape in the student's code
            tree = ast.parse(text)
        names = _Names(tree)
        found = {*_imports(tree, names, rubric), *_uses(tree, names, rubric)}
    except SyntaxError as error:
        line = error.lineno or 0
        raise Unparsed(say("{path}: syntax error in line {n}", path=path, n=line)) from None
    except (RecursionError, MemoryError):  # the parser raises these for deep nesting
        raise Unparsed(say("{path}: nested too deeply to be parsed", path=path)) from None
    except ValueError as error:
        raise Unparsed(say("{path}: {problem}", path=path, problem=str(error))) from None
    lines = text.split("\n")
    return [Finding(path, line, name, task, lines[line - 1].strip()[:MAX_SHOWN]) for line, name, task in sorted(found)]


Place = tuple[int, str, str]  # line, name, task


def _imports(tree: ast.AST, names: _Names, rubric: Rubric) -> Iterator[Place]:
    """Imports of modules that are neither Python's own, nor in the rubric's ``imports``, nor the student's files."""
    allowed = {*sys.stdlib_module_names, *rubric.imports, SUBMITTED}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        elif isinstance(node, ast.Call) and (imported := names.imported(node)):
            modules = [imported]
        else:
            continue
        yield from ((node.lineno, name, "") for name in modules if name.partition(".")[0] not in allowed)


def _uses(tree: ast.AST, names: _Names, rubric: Rubric) -> Iterator[Place]:
    """Uses of names that the rubric lists under a task's ``library``: called, subclassed, imported or passed on."""
    whole = {name: task.id for task in rubric.tasks for name in task.library}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            found = [_joined(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Name | ast.Attribute | ast.Call):
            found = [names.dotted(node)]
        else:
            continue
        for name in found:
            root, _, rest = name.partition(".")
            if root in rubric.imports and (task := whole.get(rest.rpartition(".")[2])):
                yield node.lineno, name, task


class _Names:
    """What the names in a file stand for. Scopes are ignored: the first known binding of a name counts."""

    def __init__(self, tree: ast.AST) -> None:
        self._bound: dict[str, str] = {}
        self._stars: list[str] = []
        nodes = [*ast.walk(tree)]
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef):
                self._bound.setdefault(node.name, "")  # a class or function of the student's own
        for _ in range(ROUNDS):
            for node in nodes:
                self._assign(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound, name = (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
                self._bound.setdefault(bound, name)
            elif alias.name == "*":
                self._stars.append(node.module or "")
            elif not node.level:
                self._bound.setdefault(alias.asname or alias.name, _joined(node.module, alias.name))

    def _assign(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
            targets, value = [node.target], node.value
        else:
            return
        if name := self.dotted(value):
            for target in targets:
                if isinstance(target, ast.Name):
                    self._bound.setdefault(target.id, name)

    def dotted(self, node: ast.expr) -> str:
        """What an expression stands for, such as ``torch.nn.Linear``; empty if that is not known."""
        parts: list[str] = []
        while len(parts) < MAX_PARTS and (read := _attribute(node)):
            node, part = read
            parts.append(part)
        root = self._root(node, parts)
        name = ".".join([root, *reversed(parts)])
        return name if root and name.count(".") < MAX_PARTS else ""

    def _root(self, node: ast.expr, parts: list[str]) -> str:
        if isinstance(node, ast.Call):
            return self.imported(node)
        if not isinstance(node, ast.Name):
            return ""
        if node.id in self._bound or parts or not self._stars:
            return self._bound.get(node.id, "")
        return f"{self._stars[0]}.{node.id}"  # any star import will do, since only the last part is looked up

    def imported(self, call: ast.Call) -> str:
        """The module that a call such as ``import_module("einops")`` imports; empty for any other call."""
        callee = call.func.id if isinstance(call.func, ast.Name) else ""
        known = callee == "__import__" or (
            isinstance(call.func, ast.Name | ast.Attribute) and self.dotted(call.func) == "importlib.import_module"
        )
        name = _literal(call.args[0]) if known and call.args else ""
        return name.partition(".")[0] if callee == "__import__" else name


def _joined(module: str | None, name: str) -> str:
    return f"{module}.{name}"[-MAX_NAME:]


def _attribute(node: ast.expr) -> tuple[ast.expr, str] | None:
    """The object and the name in ``object.name`` and ``getattr(object, "name")``."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        name = _literal(node.args[1]) if len(node.args) >= 2 else ""
        return (node.args[0], name) if name else None
    return None


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
