"""An assignment as the engine sees it: one object that gives access to all of its parts."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .rubric import SUBMITTED, Rubric, RubricError, load_rubric

NOT_DECIDING = ("corpus", "demo", "laws", "selftest")  # parts that have no influence on a report


@dataclass(frozen=True)
class Assignment:
    """An assignment: a package, and the folders that belong to it.

    The package holds ``rubric.toml``, the folder ``hidden`` with the hidden tests, if it likes a folder ``laws`` with
    tests that students copy from reports (:mod:`grader.core.assignment`), and the modules below. Each of these
    is imported when it is first used, so that commands that need none of them start at once:

    - ``diagnose``: ``diagnose(student, property_id, failing)``, the misconception behind failing cases, {id: message}
    - ``phrases``: ``PHRASES``, the messages of the hidden tests, from English to Chinese
    - ``corpus.students``: ``STUDENTS``, a sample class
    - ``corpus.variants``: ``all_variants()``, wrong and valid submissions, each with the points that it should lose;
      optional: ``slip_families()`` and ``submission(slips)``, mistakes by task, to be combined
    - ``corpus.attacks``: ``all_attacks()``, hostile submissions
    - ``corpus.styles``, optional: ``style(number)`` and ``COMBINATIONS``, right submissions that share no text with
      ``ref``
    - ``corpus.practice``, optional: ``PRACTICE``, implementations of a function that students' own tests tell apart

    Only the name of its package is sent to other processes and machines, which import the package there.

    Attributes:
        package: The package's name; it defines this object as ``ASSIGNMENT``.
        folder: The folder of the package.
        root: The folder that holds ``src``, ``ref``, ``tests``, ``handout`` and ``notebooks``.
        not_asked_for: Folders of ``ref`` that are not part of a solution.
    """

    package: str
    folder: Path
    root: Path
    not_asked_for: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.package,)

    @cached_property
    def rubric(self) -> Rubric:
        """Tasks, properties, points and hints.

        Raises:
            RubricError: If the file contradicts itself.
        """
        return load_rubric(self.folder / "rubric.toml", self.root / "ref")

    @property
    def hidden(self) -> Path:
        """The folder of the hidden tests."""
        return self.folder / "hidden"

    def part(self, name: str) -> Any:
        """A module of the package, such as ``corpus.variants``."""
        return importlib.import_module(f"{self.package}.{name}")

    @property
    def phrases(self) -> Mapping[str, str]:
        """The messages of the hidden tests, from English to Chinese."""
        phrases: Mapping[str, str] = self.part("phrases").PHRASES
        return phrases

    @cached_property
    def laws(self) -> Mapping[str, Law]:
        """What properties ask for, as tests for students to copy, by property; not all properties have one."""
        return read_laws(self.folder / "laws")

    @property
    def practice(self) -> Any:
        """The implementations that students' own tests are judged with; None if the assignment has no practice."""
        return self.part("corpus.practice").PRACTICE if (self.folder / "corpus" / "practice").is_dir() else None

    def solution_paths(self) -> list[Path]:
        """The files of ``ref`` that solve the assignment."""
        reference = self.root / "ref"
        others = [reference / name for name in self.not_asked_for]
        return [path for path in sorted(reference.rglob("*.py")) if not any(map(path.is_relative_to, others))]

    def solution(self) -> dict[str, str]:
        """The reference as a submission: path to source text."""
        return dict(_as_submitted(self.solution_paths(), self.root / "ref"))

    def stubs(self) -> dict[str, str]:
        """The stubs that students are given, as a submission: path to source text."""
        given = self.root / SUBMITTED
        return dict(_as_submitted(sorted(given.rglob("*.py")), given))

    def deciding_paths(self) -> list[Path]:
        """The files of the package and of the reference that a report depends on, but for the rubric."""
        files = self.folder.rglob("*.py")
        own = [path for path in files if not set(path.relative_to(self.folder).parts) & {*NOT_DECIDING}]
        return sorted([*own, *self.solution_paths()])


def named(package: str) -> Assignment:
    """The assignment that a package defines."""
    assignment: Assignment = importlib.import_module(package).ASSIGNMENT
    return assignment


def rubric_or_exit(assignment: Assignment) -> Rubric:
    """The rubric; if it contradicts itself, print where in one line and exit with status 2."""
    try:
        return assignment.rubric
    except RubricError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


def _as_submitted(paths: list[Path], folder: Path) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield f"{SUBMITTED}/{path.relative_to(folder).as_posix()}", path.read_text(encoding="utf-8")


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
