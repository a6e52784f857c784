"""Every small change that mutmut makes to the reference, each as the text of a file.

mutmut's own runner switches between mutants inside one copy of the module, through environment variables and imports.
A submission is text here, which a worker imports in a process of its own, so only the making of mutants is mutmut's.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import libcst
from mutmut.mutation.file_mutation import create_mutations, deep_replace

from grader.grading import reference_files


@dataclass(frozen=True)
class Mutant:
    """The reference with one change.

    Attributes:
        path: The changed file, as in a submission.
        where: The class or function around the change, such as ``GroupRMSNorm.forward``.
        before: The changed lines of the reference, without their indentation.
        after: What takes their place.
        text: The whole changed file.
    """

    path: str
    where: str
    before: str
    after: str
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """What the table of explanations calls it: line numbers would change with every edit above."""
        return f"{self.where}: {self.before} -> {self.after}"


def all_mutants() -> list[Mutant]:
    """The mutants of every file of the reference that defines something, in the order of their lines."""
    found: dict[str, Mutant] = {}
    for path, source in reference_files().items():
        if path.endswith("__init__.py"):
            continue  # nothing but imports
        for text in _mutated(path, source):
            mutant = _mutant(path, source, text)
            found.setdefault(mutant.name, mutant)
    return list(found.values())


def _mutated(path: str, source: str) -> Iterator[str]:
    module, mutations, *_ = create_mutations(path, source)
    for mutation in mutations:
        text = cast(libcst.Module, deep_replace(module, mutation.original_node, mutation.mutated_node)).code
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
