"""The laws behind lost points, as tests that a student copies from a report into ``tests/``.

An assignment keeps them in files like those of its public tests: helpers, constants, and tests with the mark
``rubric``. What a student gets of a property is cut out of such a file: its tests, and what these use. A constant such
as ``GROUP_SIZE`` takes the value of the field ``group_size`` in the failing case's message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_SIMPLE = re.compile(r"^([A-Z_]+) = (-?[\d._e-]+)(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True)
class Law:
    """What a property asks for, as a law that students can check on their own outputs.

    Attributes:
        words: The law by language.
        source: The tests with what they use: a whole file without its docstring.
    """

    words: Mapping[str, str]
    source: str

    def test(self, about: str, stated: Mapping[str, str | int | float] = MappingProxyType({})) -> str:
        """The file to copy.

        Args:
            about: Its docstring.
            stated: What the message of the case that failed states, such as sizes, by the names of arguments.
        """
        numbers = {name.upper(): str(value) for name, value in stated.items() if _NUMBER.fullmatch(str(value))}
        filled = _SIMPLE.sub(lambda line: f"{line[1]} = {numbers.get(line[1], line[2])}", self.source)
        return f'"""{about}"""\n\n{filled}'


def read_laws(folder: Path) -> dict[str, Law]:
    """The laws in a folder's files, by the ids of their properties; none if there is no such folder."""
    return {name: law for path in sorted(folder.glob("*.py")) for name, law in _laws_in(path.read_text("utf-8"))}


def _laws_in(text: str) -> Iterator[tuple[str, Law]]:
    lines, statements = text.splitlines(), ast.parse(text).body
    tests: dict[str, list[ast.FunctionDef]] = {}
    for own in statements:
        if isinstance(own, ast.FunctionDef) and (name := _property_of(own)):
            tests.setdefault(name, []).append(own)
    defined = {name: own for own in statements for name in _defines(own)}
    for name, marked in tests.items():
        used, waiting = set[str](), list[ast.stmt](marked)
        while waiting:
            new = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)} & defined.keys() - used
            used |= new
            waiting += [defined[one] for one in new]
        kept = [own for own in statements if own in marked or used.intersection(_defines(own))]
        yield name, Law(_words(marked[0]), _joined(kept, used, lines))


def _property_of(function: ast.FunctionDef) -> str | None:
    """The property that a test is marked with."""
    marks = (re.fullmatch(r"pytest\.mark\.rubric\('(\w+)'\)", ast.unparse(mark)) for mark in function.decorator_list)
    return next((mark[1] for mark in marks if mark), None)


def _defines(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a file defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _words(test: ast.FunctionDef) -> dict[str, str]:
    """The law in the docstring of a test: a paragraph in English, and one in Chinese, which has no spaces."""
    english, _, chinese = (ast.get_docstring(test) or "").partition("\n\n")
    return {"en": " ".join(english.split()), "zh": "".join(line.strip() for line in chinese.splitlines())}


def _joined(kept: list[ast.stmt], used: set[str], lines: list[str]) -> str:
    """Statements as a file: imports with what is used of them, everything else as it was written."""
    parts: list[str] = []
    for before, own in zip([None, *kept], kept, strict=False):
        if isinstance(own, ast.ImportFrom):
            names = ", ".join(name for name in _defines(own) if name in used)
            text = f"from {own.module} import {names}"
        else:
            decorators = own.decorator_list if isinstance(own, ast.FunctionDef) else []
            first = min(own.lineno, *(mark.lineno for mark in decorators), own.lineno)
            text = "\n".join(lines[first - 1 : own.end_lineno])
        gap = _gap(before, own) if before else 0
        parts.append("\n" * gap + text)
    return "\n".join(parts) + "\n"


def _gap(before: ast.stmt, own: ast.stmt) -> int:
    """Empty lines between two statements: two around functions, one behind imports."""
    if isinstance(before, ast.FunctionDef) or isinstance(own, ast.FunctionDef):
        return 2
    return int(isinstance(before, ast.Import | ast.ImportFrom) and not isinstance(own, ast.Import | ast.ImportFrom))
