"""Every small change that mutmut makes to the reference, each as the text of a file.

mutmut's own runner keeps all mutants in one module and selects one by an environment variable. Here a submission is
text, which a worker imports in a process of its own, so mutmut is used only to make the mutants.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from grader.assignment import ASSIGNMENT


@dataclass(frozen=True)
class Mutant:
    """The reference with one change.

    Attributes:
        path: The path of the changed file in a submission.
        where: The class or function around the change, such as ``Layer.forward``.
        before: The changed lines of the reference, without their indentation.
        after: The lines that replace them.
        text: The whole changed file.
    """

    path: str
    where: str
    before: str
    after: str
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name in the table of explanations. It has no line number, which would change with edits above it."""
        return f"{self.where}: {self.before} -> {self.after}"


def all_mutants() -> list[Mutant]:
    """All mutants of the reference, file by file, in the order of their lines."""
    found: dict[str, Mutant] = {}
    for path, source in ASSIGNMENT.solution().items():
        if path.endswith("__init__.py"):
            continue  # these files hold only imports
        for text in _mutated(path, source):
            mutant = _mutant(path, source, text)
            found.setdefault(mutant.name, mutant)
    return list(found.values())


def _mutated(path: str, source: str) -> Iterator[str]:
    from mutmut.mutation.file_mutation import (  # takes seconds, so --help should not import it
        create_mutations,
        deep_replace,
    )

    module, mutations, *_ = create_mutations(path, source)
    for mutation in mutations:
        text = cast(Any, deep_replace(module, mutation.original_node, mutation.mutated_node)).code
        if text != source:
            yield text


def _mutant(path: str, source: str, text: str) -> Mutant:
    old, new = source.splitlines(), text.splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    _, first, last, start, end = next(block for block in blocks if block[0] != "equal")
    return Mutant(path, _definition(source, first + 1), _joined(old[first:last]), _joined(new[start:end]), text)


def _joined(lines: list[str]) -> str:
    return " ".join(line.partition("  # ")[0].strip() for line in lines)


def _definition(source: str, line: int) -> str:
    """The qualified name of the innermost definition around a line."""
    names, body = [], ast.parse(source).body
    while inner := next((node for node in body if _is_around(node, line)), None):
        assert isinstance(inner, (ast.ClassDef, ast.FunctionDef))
        names.append(inner.name)
        body = inner.body
    return ".".join(names)


def _is_around(node: ast.stmt, line: int) -> bool:
    return isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.lineno <= line <= (node.end_lineno or 0)
