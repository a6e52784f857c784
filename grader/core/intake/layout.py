"""Finds the files of a submission however a student packed them: in a folder within a folder, loose, or renamed.

What a file defines is read from its syntax tree; the file is never run.
"""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from pathlib import PurePosixPath

from grader import SUBMITTED
from grader.core.messages import Message, quoted, say
from grader.shared.source_rules import Refused, decoded

from .submission import (
    LEFT_OUT,
    MAX_FILE_BYTES,
    MAX_FILES,
    Concern,
    Expected,
    Files,
    Read,
    Unreadable,
    is_source_path,
    lacks_suffix,
    left_out,
    may_be_source,
    refused,
)

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


MAX_VERSIONS = 20  # the most versions of one file that are compared
MISSING = say("{path} is missing")
_COPY_SUFFIX = re.compile(
    r"(?:[-_ ]?\((\d+)\)|-(\d+)|[-_ ]copy)$", re.IGNORECASE
)  # norm-1.py, norm (2).py, norm copy.py


@dataclass
class Placed:
    """What has been found so far.

    Attributes:
        files: Source text by path below the submission's root.
        sources: For each path, the name that the student gave the file.
        notices: Remarks on guesses.
        concerns: What a person should look at.
        used: The names that were taken for expected files, whether they could be read or not.
        in_doubt: Paths of which there are two versions, so that neither counts.
    """

    files: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    notices: list[Message] = field(default_factory=list)
    concerns: list[Concern] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    in_doubt: set[str] = field(default_factory=set)


def place(files: Files, expected: Expected) -> Placed:
    """Read the files of a submission, found by their folders and names.

    A file that cannot be read is left out, with a notice, and costs its own tasks only. A file is in doubt if another
    version is as likely to be meant, or if it is a stub and another version is not.

    Raises:
        Unreadable: If there are too many Python files below ``src/``.
    """
    found = Placed()
    names = sorted(files)
    roots = _roots(names, expected)
    for path, name in _places(names, expected, roots, found.notices).items():
        try:
            text = _text(files[name])
            if path in expected and not text.strip():
                raise Unreadable(say("{path} is empty"))
        except Unreadable as problem:
            found.concerns.append(left_out(path, problem))
        else:
            found.files[path], found.sources[path] = text, name
        if path in expected:
            found.used.add(name)
            versions = [other for other in names if expected_path(other, expected) == path]
            _doubt(found, path, expected[path], {other: files[other] for other in versions}, roots)
    return found


def _text(read: Read) -> str:
    try:
        return decoded(read(MAX_FILE_BYTES))
    except Refused as refusal:
        raise refused(refusal) from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise Unreadable(say("{path} cannot be read ({problem})", problem=why)) from None


def _doubt(
    found: Placed, path: str, names: Sequence[str], versions: Files, roots: Mapping[str, tuple[int, int]]
) -> None:
    """Put a file in doubt if another version of it is as likely to be meant, or more likely."""
    if path not in found.files:
        return
    text, name = found.files[path], found.sources[path]
    for other in [other for other in versions if other != name][:MAX_VERSIONS]:
        with contextlib.suppress(Unreadable):
            more = _text(versions[other])
            alike = _rank(other, path, roots) == _rank(name, path, roots)
            better = lacking(text, names) and not lacking(more, names)
            if more != text and (alike or better):
                found.used.add(other)
                found.concerns.append(doubtful(path, name, other))
                found.in_doubt.add(path)
                return


def doubtful(path: str, one: str, other: str) -> Concern:
    """The concern about a file of which there are two versions."""
    twice = say("{path} exists twice, as {one} and as {other}, with different content", path=path, one=one, other=other)
    return Concern("doubtful", twice.then(LEFT_OUT))


def _rank(name: str, path: str, roots: Mapping[str, tuple[int, int]]) -> tuple[bool, int, int]:
    """How likely it is that a name is meant as ``path``: equal for two names that are equally likely."""
    root = name.removesuffix(path)
    return (True, *roots[root]) if root != name and root in roots else (False, copy_number(name), name.count("/"))


def _places(
    names: list[str], expected: Collection[str], roots: Mapping[str, tuple[int, int]], notices: list[Message]
) -> dict[str, str]:
    """For each path, the name of the file that is taken for it; remarks on guesses are added to ``notices``."""
    root = max(roots, key=lambda root: roots[root], default=None)
    placed: dict[str, str] = {}
    if root is not None:
        inside = {name.removeprefix(root): name for name in names if name.startswith(f"{root}{SUBMITTED}/")}
        placed = {path: name for path, name in inside.items() if is_source_path(path)}
        if len(placed) > MAX_FILES:
            many = say("{n} Python files under src/", n=len(placed))
            raise Unreadable(many.then(say("the limit is {n}", n=MAX_FILES)))
        if root:
            notices.append(say("Found inside the folder {called}.", called=repr(root.rstrip("/"))))
    for name in sorted(names, key=lambda name: (-copy_number(name), name.count("/"))):  # the latest copy counts
        path = expected_path(name, expected)
        if path and path not in placed and (root is None or name.startswith(root)):
            placed[path] = name
            notices.append(say("{called} was graded as {path}.", called=repr(name), path=path))
    return placed


def _roots(names: list[str], expected: Collection[str]) -> dict[str, tuple[int, int]]:
    """Each path above a ``src/``, with its rank: more expected files are better, then fewer folders in the path."""
    roots: dict[str, tuple[int, int]] = {}
    for name in names:
        parts = name.split("/")
        for depth in (index for index, part in enumerate(parts[:-1]) if part == SUBMITTED):
            root = "".join(f"{part}/" for part in parts[:depth])
            roots[root] = (roots.get(root, (0, 0))[0] + (name.removeprefix(root) in expected), -depth)
    return roots


def expected_path(name: str, expected: Collection[str]) -> str | None:
    """The expected path that a file stands for, by its name alone, wherever it lies; None if there is none."""
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


def renamed(
    files: Files, used: Collection[str], wanted: Mapping[str, Message], names: Mapping[str, Collection[str]]
) -> Iterable[Concern]:
    """A concern for each file that may be a missing one under another name; such a file is never used.

    Args:
        files: All files that were handed in.
        used: Names of the files that already count as something.
        wanted: Expected paths that are missing or hold only a stub, with what is wrong with each, as :func:`lacking`
            says it.
        names: For each expected path, the names that it defines.
    """
    rest = [name for name in sorted(files) if name not in used]
    others = [*filter(may_be_source, rest), *filter(lacks_suffix, rest)][:MAX_FILES]
    for path, problem in wanted.items():
        for name in others:
            text = ""
            with contextlib.suppress(Unreadable):  # the name may still say what it is
                text = _text(files[name])
            known = defined(text, names.get(path, ()))
            called = (
                expected_path(f"{name}.py", names) == path  # else every binary file would be suspected
                if lacks_suffix(name)
                else PurePosixPath(path).stem in PurePosixPath(name).stem.lower()
            )
            if (called and (problem == MISSING or not text)) or (known and not lacking(text, known)):
                offer = say(
                    "{called} may be that file (it defines {names})." if known else "{called} may be that file.",
                    called=repr(name),
                    names=", ".join(known),
                )
                yield Concern("renamed", problem.filled(path=path).then(offer, say("If so, rename it.")))
