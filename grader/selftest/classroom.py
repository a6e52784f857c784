"""A class in which it is known who copied: every student wrote something, and some copied from others."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from grader.core.assignment import Assignment
from grader.core.intake.candidate import Candidate
from grader.core.intake.submission import Submission
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.similarity.work import Known, Work, read_work
from grader.selftest.submissions import SWIGLU

Files = dict[str, str]

# Code that is in no reference; each statement is longer than a passage.
PLAN = """
def plan(weights, limit):
    total = sum(weight * weight for weight in weights if weight > limit)
    while total > limit and weights:
        total -= weights.pop() ** 2 + 3 * limit
    if total < 0 or not weights:
        raise ArithmeticError(f"{total} of {limit}")
    return [weight / (total + 1) for weight in reversed(weights)] or [limit]
"""
OTHER = """
class Store:
    def put(self, key, value):
        self.items.setdefault(key, []).append((value, len(self.items)))
        if len(self.items) % 7 == 3:
            del self.items[min(self.items, key=lambda name: -len(name))]
        return {name: values[-1][0] for name, values in self.items.items() if values}
"""


@dataclass(frozen=True)
class Desk(Candidate):
    """A submission in memory."""

    texts: Mapping[str, str] | None = None

    def read(self) -> Submission:
        """The submission."""
        return Submission(self.id, dict(self.texts or {}))


def verbatim(text: str) -> str:
    """The code unchanged."""
    return text


def renamed(text: str) -> str:
    """The code with another name for every variable that is assigned to."""
    stores = (
        node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    names = {name: f"my_{number}" for number, name in enumerate(dict.fromkeys(stores))}
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: names.get(found[0], found[0]), text)


def commented(text: str) -> str:
    """The code with other comments, and with blank lines."""
    lines = (
        f"{line}  # here I thought\n" if line.endswith((")", "):")) and '"' not in line else line
        for line in text.split("\n")
    )
    return "\n".join(lines)


def reordered(text: str) -> str:
    """The code with its functions, its classes and their methods in reverse order."""
    tree = ast.parse(text)
    scopes: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for scope in scopes:
        places = [place for place, node in enumerate(scope.body) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        nodes = [scope.body[place] for place in places]
        for place, node in zip(places, reversed(nodes), strict=True):
            scope.body[place] = node
    return ast.unparse(tree)


def reformatted(text: str) -> str:
    """The code without comments, laid out by a program."""
    return ast.unparse(ast.parse(text))


DISGUISES: Final[Mapping[str, Callable[[str], str]]] = {
    disguise.__name__: disguise for disguise in (verbatim, renamed, commented, reordered, reformatted)
}


def copied(files: Mapping[str, str], disguise: str, paths: Iterable[str] = ASSIGNMENT.rubric.expected) -> Files:
    """The files, each disguised by one of the functions above."""
    return {path: DISGUISES[disguise](files[path]) for path in paths}


def with_own(*texts: str) -> Files:
    """The stubs, with texts added to one of them."""
    return {**ASSIGNMENT.stubs(), SWIGLU: "\n\n".join((ASSIGNMENT.stubs()[SWIGLU], *texts))}


def read(people: Mapping[str, Mapping[str, str]], known: Known, assignment: Assignment = ASSIGNMENT) -> list[Work]:
    """The works that ``grader similar`` would compare."""
    desks = [Desk(name, Path(name), texts=files) for name, files in people.items()]
    return [read_work(desk, desk.read(), known, assignment.rubric) for desk in desks]
