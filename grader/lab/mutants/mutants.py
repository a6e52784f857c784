"""Right submissions, and every small edit of their syntax trees, each as the text of a file.

mutmut's own runner keeps all mutants in one module and selects one by an environment variable. Here a submission is
text, which a worker imports in a process of its own, so only mutmut's operators are used, and more of ``operators.py``.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NamedTuple, cast

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.styles import COMBINATIONS, style

REFERENCE: Final = "ref"
SOURCES: Final = 20
SLOW: Final = "compiled"  # styles with such an option take seconds for each import


@dataclass(frozen=True)
class Mutant:
    """A right submission with one edit.

    Attributes:
        source: The right submission: ``ref``, or the name of a style.
        path: The path of the changed file in it.
        where: The class or function around the change, such as ``Layer.forward``.
        before: The changed lines, without their indentation.
        after: The lines that replace them.
        text: The whole changed file.
    """

    source: str
    path: str
    where: str
    before: str
    after: str
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name in the table of explanations. It has no line number, which would change with edits above it."""
        return f"{self.source}, {self.path}, {self.where}: {self.before} -> {self.after}"


def sources() -> dict[str, Mapping[str, str]]:
    """The files of the reference, and of those styles that have most options which no earlier one has."""
    found: dict[str, Mapping[str, str]] = {REFERENCE: ASSIGNMENT.solution()}
    styles = [one for one in map(style, range(COMBINATIONS)) if not any(SLOW in option for option in one.options)]
    seen: set[str] = set()
    while len(found) < SOURCES:
        best = max(styles, key=lambda one: (len({*one.options} - seen), -one.number))
        seen |= {*best.options}
        found[best.name] = best.submission(ASSIGNMENT).files
    return found


class Edit(NamedTuple):
    """An edit of a file: where it is, the number of its operator, the file's tree, a node, and what replaces that."""

    path: str
    where: str
    operator: int
    module: Any
    node: Any
    other: Any


def mutants(source: str, files: Mapping[str, str]) -> Iterator[Mutant]:
    """All edits of a submission: one of each operator in turn, those of an operator in the order of digests."""
    from mutmut.mutation.file_mutation import deep_replace  # takes seconds, so --help should not import it

    edits = [(number, edit) for path, text in sorted(files.items()) for number, edit in enumerate(_edits(path, text))]
    edits.sort(key=lambda one: hashlib.sha256(f"{source} {one[1].path} {one[0]}".encode()).digest())
    turns: Counter[int] = Counter()
    rounds: dict[int, list[Edit]] = defaultdict(list)
    for _, edit in edits:
        turns[edit.operator] += 1
        rounds[turns[edit.operator]].append(edit)
    seen = set()
    for edit in chain.from_iterable(rounds.values()):
        text = cast(Any, deep_replace(edit.module, edit.node, edit.other)).code
        if text not in seen and _is_another_program(files[edit.path], text):
            seen.add(text)
            yield _mutant(source, edit, files[edit.path], text)


def _edits(path: str, text: str) -> Iterator[Edit]:
    """Every edit inside a function of a file, but for annotations."""
    import libcst as cst
    from mutmut.mutation.mutators import mutation_operators

    from .operators import OPERATORS

    module = cst.parse_module(text)

    def within(node: cst.CSTNode, where: str, inside: bool) -> Iterator[Edit]:
        if isinstance(node, cst.Annotation):
            return
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            where = f"{where}.{node.name.value}".removeprefix(".")
        inside = inside or isinstance(node, cst.FunctionDef)
        for number, (kind, operator) in enumerate([*mutation_operators, *OPERATORS] if inside else ()):
            if isinstance(node, kind):
                yield from (Edit(path, where, number, module, node, other) for other in operator(node))
        for child in node.children:
            yield from within(child, where, inside)

    return within(module, "", False)


def _is_another_program(text: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) != ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _mutant(source: str, edit: Edit, original: str, text: str) -> Mutant:
    old, new = original.splitlines(), text.splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    _, first, last, start, end = next(block for block in blocks if block[0] != "equal")
    return Mutant(source, edit.path, edit.where, _joined(old[first:last]), _joined(new[start:end]), text)


def _joined(lines: list[str]) -> str:
    return " ".join(line.partition("  # ")[0].strip() for line in lines)
