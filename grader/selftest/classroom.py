"""A class whose copies are known: everybody wrote something of their own, and then some handed on what they had."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from grader.assignment import load_rubric
from grader.grading import reference_files
from grader.intake.candidate import Candidate
from grader.intake.submission import EXPECTED, Submission
from grader.selftest.submissions import stubs
from grader.selftest.variants import Variant, all_variants, bases
from grader.selftest.variants.catalog import HOME
from grader.similarity.known import Known
from grader.similarity.work import Work, read_work

Files = dict[str, str]
NORM: Final = HOME["GroupRMSNorm"]
# What variants share because they derive from it, as a class shares what was said in a lecture.
LECTURE: Final = Path(bases.__file__)

# Something that is in no reference: each statement is longer than a passage.
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
    """A submission that lies in memory."""

    files: Mapping[str, str] | None = None

    def read(self) -> Submission:
        """What was handed in."""
        return Submission(self.id, dict(self.files or {}))


def honest(size: int) -> list[Files]:
    """Submissions of people who worked alone: the reference, with variants that nobody else has.

    Where a file's variants run out, the reference stands as it is, so that nothing of it is anybody's own.
    """
    reference = reference_files()
    people = [dict(reference) for _ in range(size)]
    for number, variant in enumerate(_shuffled(all_variants())):
        home = HOME[variant.piece]
        mates = [person for person in people if person[home] == reference[home]] or people
        mates[number % len(mates)][home] += variant.files[home][len(reference[home]) :]
    return people


def _shuffled(variants: tuple[Variant, ...]) -> list[Variant]:
    """In an order in which neighbours have nothing to do with each other, the same each time."""
    return sorted(variants, key=lambda variant: variant.name[::-1])


def verbatim(text: str) -> str:
    """As it is."""
    return text


def renamed(text: str) -> str:
    """With another name for every variable that is assigned to."""
    stores = (
        node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    names = {name: f"my_{number}" for number, name in enumerate(dict.fromkeys(stores))}
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: names.get(found[0], found[0]), text)


def commented(text: str) -> str:
    """With comments of one's own, and blank lines."""
    lines = (
        f"{line}  # here I thought\n" if line.endswith((")", "):")) and '"' not in line else line
        for line in text.split("\n")
    )
    return "\n".join(lines)


def reordered(text: str) -> str:
    """With the functions and classes of the file, and the methods of its classes, in reverse order."""
    tree = ast.parse(text)
    scopes: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for scope in scopes:
        places = [place for place, node in enumerate(scope.body) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        nodes = [scope.body[place] for place in places]
        for place, node in zip(places, reversed(nodes), strict=True):
            scope.body[place] = node
    return ast.unparse(tree)


def reformatted(text: str) -> str:
    """Without comments, and laid out by a program."""
    return ast.unparse(ast.parse(text))


DISGUISES: Final[Mapping[str, Callable[[str], str]]] = {
    disguise.__name__: disguise for disguise in (verbatim, renamed, commented, reordered, reformatted)
}


def desks(people: Mapping[str, Mapping[str, str]]) -> list[Desk]:
    """What ``discover`` would find."""
    return [Desk(name, Path(name), files=files) for name, files in people.items()]


def copied(files: Mapping[str, str], disguise: str, paths: tuple[str, ...] = EXPECTED) -> Files:
    """These files, disguised."""
    return {path: DISGUISES[disguise](files[path]) for path in paths}


def with_norm(*texts: str) -> Files:
    """The stubs, and texts added to the norm's."""
    return {**stubs(), NORM: "\n\n".join((stubs()[NORM], *texts))}


def read(people: Mapping[str, Mapping[str, str]], known: Known) -> list[Work]:
    """What ``similar`` makes of them."""
    return [read_work(desk, known, load_rubric()) for desk in desks(people)]
