"""The laws that the public tests state, by property: what a report quotes beside the command that runs these tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

Law = Mapping[str, str]  # by language


def read_laws(folder: Path) -> dict[str, Law]:
    """The law of each property: what the docstring of its first public test in ``folder`` says."""
    laws: dict[str, Law] = {}
    for path in sorted(folder.glob("test_*.py")):
        for name, law in _laws_in(path.read_text("utf-8")):
            laws.setdefault(name, law)
    return laws


def _laws_in(text: str) -> Iterator[tuple[str, Law]]:
    for test in ast.parse(text).body:
        if isinstance(test, ast.FunctionDef):
            for decorator in test.decorator_list:
                if mark := re.fullmatch(r"pytest\.mark\.rubric\('(\w+)'\)", ast.unparse(decorator)):
                    yield mark[1], _words(test)


def _words(test: ast.FunctionDef) -> Law:
    """The docstring: a paragraph in English, and one in Chinese, which has no spaces."""
    english, _, chinese = (ast.get_docstring(test) or "").partition("\n\n")
    return {"en": " ".join(english.split()), "zh": "".join(line.strip() for line in chinese.splitlines())}
