"""What a source file defines, by its syntax tree; the file is never run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, reduce

from grader.core.messages import Message, quoted, say

STUB = say("{path} is a stub")
MOST_KEPT = 32  # texts whose answers are kept: one submission asks about few texts, several times
MOST_PARSED = 1 << 18  # characters; a tree takes a hundred times the memory of its text
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)  # have names of their own
_UNSEEN = ("exec", "globals", "locals", "vars")  # functions that may define names which no tree shows


def lacking(text: str, names: Sequence[str]) -> Message | None:
    """What is wrong with a file that should define ``names``: it defines none, or is a stub; None if nothing.

    A file that may define names which its tree does not show, as with ``from .mine import *``, gets the benefit of the
    doubt. Of a file without a tree (a syntax error, too long) the text is searched.
    """
    found = _bound(text)
    if names and not (any(name in text for name in names) if found is None else found.more or found.names & {*names}):
        return say("{path} does not define {names}", names=reduce(_and_no, names[1:], quoted(names[0])))
    stub = "NotImplementedError" in text if found is None else found.stub
    return STUB if stub else None


def _and_no(first: Message, other: str) -> Message:
    return say("{first} or {other}", first=first, other=other)


def defined(text: str, names: Iterable[str]) -> list[str]:
    """Those of the names that a file itself defines, and does not import; without a tree, by how its lines begin."""
    mentioned = [name for name in names if name in text]
    found = _bound(text) if mentioned else None
    if found is None:
        return [name for name in mentioned if re.search(rf"^(?:class|def) {name}\b", text, re.MULTILINE)]
    return [name for name in mentioned if name in found.made]


class _Bound:
    """What a module binds.

    Attributes:
        made: Whatever is defined or assigned at its top level, under any condition.
        names: The same, and whatever is imported.
        more: Whether it may define more, which the tree does not show: by a star import, for example.
        stub: Whether something in it raises ``NotImplementedError``.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = [*ast.walk(tree)]
        by_functions = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        self.made = by_functions | {*_names(tree)}
        self.names = self.made | {*_names(tree, imported=True)}
        self.more = "__getattr__" in self.names or any(map(_hides, nodes))
        self.stub = any(
            isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
            for node in nodes
        )


@lru_cache(MOST_KEPT)
def _bound(text: str) -> _Bound | None:
    """What a module binds; None if its text has a syntax error, or is too long."""
    if len(text) > MOST_PARSED:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return _Bound(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(tree: ast.Module, imported: bool = False) -> Iterator[str]:
    """The names that are defined or assigned at the top level of a module, or those that are imported there."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not imported:
                yield node.name
            continue
        if imported and isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif not imported and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _hides(node: ast.AST) -> bool:
    """Whether something may define names that no tree shows."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    if isinstance(node, ast.Attribute):
        return node.attr == "modules"  # of sys, to put another module in place of this one
    return isinstance(node, ast.Name) and node.id in _UNSEEN
