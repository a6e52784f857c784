"""Finds the files of a submission however a student packed them: in a folder within a folder, loose, or renamed.

What a file defines is read from its syntax tree; the file is never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from grader import SUBMITTED
from grader.core.messages import Message, quoted, say
from grader.shared.source_rules import nodes_of

from .submission import MAX_FILES, Unreadable, is_source_path

STUB = say("{path} is a stub")
MOST_KEPT = 32  # texts whose answers are kept: one submission asks about few texts, several times
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_UNSEEN = ("exec", "globals", "locals", "vars")  # functions that may define names which no tree shows


def lacking(text: str, names: Sequence[str]) -> Message | None:
    """What is wrong with a file that should define ``names``: it defines none, or is a stub; None if nothing.

    A file that may define names which its tree does not show, as with ``from .mine import *``, gets the benefit of the
    doubt. Of a file without a tree (a syntax error, too long) the text is searched.
    """
    found = _bound(text)
    if names and not (any(name in text for name in names) if found is None else found.more or found.names & {*names}):
        none = quoted(names[0])
        for name in names[1:]:
            none = say("{first} or {other}", first=none, other=name)
        return say("{path} does not define {names}", names=none)
    stub = "NotImplementedError" in text if found is None else found.stub
    return STUB if stub else None


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

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        top = [*_at_the_top(nodes[0])]
        self.made = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        self.made |= {node.name for node in top if isinstance(node, DEFINITIONS)}
        self.made |= {node.id for node in top if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        self.names = self.made | {node.asname or node.name for node in top if isinstance(node, ast.alias)}
        self.more = "__getattr__" in self.names or any(map(_hides, nodes))
        self.stub = any(
            isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
            for node in nodes
        )


@lru_cache(MOST_KEPT)
def _bound(text: str) -> _Bound | None:
    """What a module binds; None if its text has a syntax error, is too long, or is nested too deeply."""
    try:
        return _Bound(nodes) if (nodes := nodes_of(text)) else None
    except RecursionError:  # to unparse an expression takes a call for each level
        return None


def _at_the_top(module: ast.AST) -> Iterator[ast.AST]:
    """What is not inside a function, a class or a comprehension, which bind names of their own."""
    waiting = [module]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*DEFINITIONS, ast.Lambda, ast.comprehension)):
            waiting += ast.iter_child_nodes(node)


def _hides(node: ast.AST) -> bool:
    """Whether something may define names that no tree shows."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    if isinstance(node, ast.Attribute):
        return node.attr == "modules"  # of sys, to put another module in place of this one
    return isinstance(node, ast.Name) and node.id in _UNSEEN


_COPY_SUFFIX = re.compile(
    r"(?:[-_ ]?\((\d+)\)|-(\d+)|[-_ ]copy)$", re.IGNORECASE
)  # norm-1.py, norm (2).py, norm copy.py
Roots = Mapping[str, tuple[int, int]]  # each path above a src/, with its rank


def roots_in(names: Iterable[str], expected: Collection[str]) -> Roots:
    """Each path above a ``src/``, with its rank: more expected files are better, then fewer folders in the path."""
    roots: dict[str, tuple[int, int]] = {}
    for name in names:
        parts = name.split("/")
        for depth in (index for index, part in enumerate(parts[:-1]) if part == SUBMITTED):
            root = "".join(f"{part}/" for part in parts[:depth])
            roots[root] = (roots.get(root, (0, 0))[0] + (name.removeprefix(root) in expected), -depth)
    return roots


def rank(name: str, path: str, roots: Roots) -> tuple[bool, int, int]:
    """How likely it is that a name is meant as ``path``: equal for two names that are equally likely."""
    root = name.removesuffix(path)
    return (True, *roots[root]) if root != name and root in roots else (False, copy_number(name), name.count("/"))


def places(names: Sequence[str], expected: Collection[str], roots: Roots) -> tuple[dict[str, str], list[Message]]:
    """For each path, the name of the file that is taken for it, wherever it lies; and remarks on guesses.

    Raises:
        Unreadable: If there are too many Python files below ``src/``.
    """
    root = max(roots, key=lambda root: roots[root], default=None)
    placed: dict[str, str] = {}
    remarks: list[Message] = []
    if root is not None:
        inside = {name.removeprefix(root): name for name in names if name.startswith(f"{root}{SUBMITTED}/")}
        placed = {path: name for path, name in inside.items() if is_source_path(path)}
        if len(placed) > MAX_FILES:
            many = say("{n} Python files under src/", n=len(placed))
            raise Unreadable(many.then(say("the limit is {n}", n=MAX_FILES)))
        if root:
            remarks.append(say("Found inside the folder {called}.", called=repr(root.rstrip("/"))))
    for name in sorted(names, key=lambda name: (-copy_number(name), name.count("/"))):  # the latest copy counts
        path = expected_path(name, expected)
        if path and path not in placed and (root is None or name.startswith(root)):
            placed[path] = name
            remarks.append(say("{called} was graded as {path}.", called=repr(name), path=path))
    return placed, remarks


def expected_path(name: str, expected: Collection[str]) -> str | None:
    """The expected path that a file's name matches, wherever the file is; None if there is none."""
    stem, suffix = without_copy_suffix(name)
    by_name = {PurePosixPath(path).name: path for path in expected}
    return by_name.get(f"{stem.lower()}.py") if suffix.lower() == ".py" else None


def without_copy_suffix(name: str) -> tuple[str, str]:
    """Stem and suffix of a file, without what a platform or a browser adds to a second file of the same name."""
    path = PurePosixPath(name)
    return _COPY_SUFFIX.sub("", path.stem), path.suffix


def handed_in_again(name: str) -> Message:
    """The remark on an earlier version of a file, which does not count."""
    return say("{called} was submitted more than once; the latest counts.", called=repr(name))


def copy_number(name: str) -> int:
    """The number in a copy's name: 2 for ``norm-2.py``, 1 for ``norm copy.py``, 0 for ``norm.py``, which is no copy."""
    match = _COPY_SUFFIX.search(PurePosixPath(name).stem)
    digits = (match[1] or match[2] or "1") if match else "0"
    return int(digits[:9])
