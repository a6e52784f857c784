"""An assignment as the engine sees it: one object that gives access to all of its parts."""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grader import PACKAGE, SUBMITTED

from .rubric import Rubric, load_rubric

Law = Mapping[str, str]  # by language
# Parts that have no influence on a report: of an assignment, and of the core.
NOT_DECIDING = ("corpus", "demo", "selftest")
NOT_DECIDING_IN_CORE = ("cli", "export", "grades", "pages")
CASE = re.compile(r"(?<=[.。])[^.。]*\{.*")  # from the first sentence on that has a field: the numbers of a case


@dataclass(frozen=True)
class Assignment:
    """An assignment: a package, and the folders that belong to it.

    The package holds ``rubric.toml``, ``chinese.toml`` with the Chinese of the hidden tests' messages, the folder
    ``hidden`` with the hidden tests, a sample class in ``corpus/students.toml``, and the modules below. Each module is
    imported when it is first used, so that commands that need none of them start at once:

    - ``diagnose``: ``diagnose(student, property_id, failing)``, the misconception behind failing cases, {id: message}
    - ``corpus.variants``: wrong and valid submissions, in folders, each with the points that it should lose; optional:
      ``all_variants()``, all of them; ``slip_families()`` and ``submission(slips)`` (a variant), mistakes by task, to
      be combined, and ``from_slips()``, the wrong variants that one of them makes
    - ``corpus.attacks``: hostile submissions, in files, each with the points of its honest part
    - ``corpus.styles``, optional: ``style(number)`` and ``COMBINATIONS``, right submissions that share no text with
      ``ref``
    - ``corpus.practice``, optional: ``PRACTICE``, implementations of a function that students' own tests tell apart

    The file ``corpus/viva.toml``, optional, has calls and laws for questions about students' own code
    (``grader/extras/viva/study.py``).

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

    @cached_property
    def laws(self) -> Mapping[str, Law]:
        """The law of each property: what the docstring of its first public test says; reports quote it."""
        return dict(_laws(self.root / "tests"))

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

    def code_sha256(self) -> str:
        """A digest of all files that take part in grading; an edit of a test changes it, but not the grader's version.

        Of the rubric, points, titles and hints are left out: reports are updated to them without grading again.
        """
        core = PACKAGE / "core"
        engine = [path for path in core.rglob("*.py") if path.relative_to(core).parts[0] not in NOT_DECIDING_IN_CORE]
        engine += [*(PACKAGE / "shared").rglob("*.py"), PACKAGE / "testing.py"]
        parts = self.folder.rglob("*.py")
        sources = [path for path in parts if Path(path.relative_to(self.folder).parts[0]).stem not in NOT_DECIDING]
        digest = hashlib.sha256(self.rubric.deciding.encode())
        for root, paths in ((PACKAGE, engine), (self.root, [*sources, *self.solution_paths()])):
            for path in sorted(paths):
                digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def named(package: str) -> Assignment:
    """The assignment that a package defines."""
    assignment: Assignment = importlib.import_module(package).ASSIGNMENT
    return assignment


def _as_submitted(paths: list[Path], folder: Path) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield f"{SUBMITTED}/{path.relative_to(folder).as_posix()}", path.read_text(encoding="utf-8")


def _laws(folder: Path) -> Iterator[tuple[str, Law]]:
    """Properties with the laws of their tests, the last one of each first."""
    for path in sorted(folder.glob("test_*.py"), reverse=True):
        for test in reversed(ast.parse(path.read_text("utf-8")).body):
            if isinstance(test, ast.FunctionDef):
                for decorator in test.decorator_list:
                    for name in re.findall(r"pytest\.mark\.rubric\('(\w+)'\)", ast.unparse(decorator)):
                        yield name, _words(test)


def _words(test: ast.FunctionDef) -> Law:
    """The docstring without a case's numbers: a paragraph in English, and one in Chinese, which has no spaces."""
    english, _, chinese = (ast.get_docstring(test) or "").partition("\n\n")
    lines = "".join(line.strip() for line in chinese.splitlines())
    return {"en": CASE.sub("", " ".join(english.split())), "zh": CASE.sub("", lines)}
