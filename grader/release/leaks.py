"""Looks for what no student may have: the reference, the grader, hidden tests, and solutions of notebooks.

Every file of a bundle is compared by text and by syntax tree with every file that stays here. Docstrings, signatures
and imports do not count: stubs share them with the reference. One line of a solution is a leak; of the grader, whose
lines are often everybody's, it takes a statement or a passage. What notebooks show on purpose is no secret, unless it
solves a task.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..assignment import reference_paths
from .fingerprints import code_in, of_code, of_text, text_in

REPOSITORY = Path(__file__).parents[2]
SECRET_FOLDERS = ("ref", "grader")
PASSAGE = 3  # lines of one of the grader's files
SECRET_PART = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", re.DOTALL)
TELLING_NAMES = re.compile(r"(?:^|/)(?:ref|grader|\.git|\.env|gradebook\.db)(?:/|$)|\.(?:pyc|db|sqlite)$")
BINARY = (".pdf", ".png", ".svg", ".woff2")


def leaks(bundle: Mapping[str, bytes], root: Path = REPOSITORY) -> Iterator[str]:
    """One line for each place in a bundle that gives something away: what, where, and where it comes from."""
    lines, statements = _secrets(root)
    for path, data in sorted(bundle.items()):
        if TELLING_NAMES.search(path):
            yield f"{path}: is no file for students"
        if path.endswith(BINARY):
            continue
        text = data.decode("utf-8", errors="replace")
        yield from _in_text(path, text, lines)
        for place, code in code_in(path, text):
            for found in of_code(code):
                if origin := statements.get(found.print):
                    yield f"{place}:{found.line}: the same statement as {origin}"


def _in_text(path: str, text: str, secret: Mapping[str, str]) -> Iterator[str]:
    """The secret lines of one file."""
    hits: dict[str, list[str]] = {}
    for place, piece in text_in(path, text):
        for found in of_text(piece):
            if origin := secret.get(found.print):
                hits.setdefault(origin.rpartition(":")[0], []).append(
                    f"{place}:{found.line}: the same line as {origin}"
                )
    for file, found_lines in hits.items():
        if len(found_lines) >= PASSAGE or not file.startswith("grader/"):
            yield from found_lines


def _secrets(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Where each secret line and each secret statement stands, by fingerprint."""
    lines: dict[str, str] = {}
    statements: dict[str, str] = {}
    shown, solution = _shown(root), reference_paths()
    for origin, code, start in _secret_code(root):
        for secret, prints in ((lines, of_text(code)), (statements, of_code(code))):
            for found in prints:
                if found.print not in shown or root / origin in solution:
                    secret.setdefault(found.print, f"{origin}:{start + found.line - 1}")
    return lines, statements


def _secret_code(root: Path) -> Iterator[tuple[str, str, int]]:
    """The bodies of all functions that stay here, each with its file and first line."""
    for folder in SECRET_FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield from ((path.relative_to(root).as_posix(), *body) for body in _bodies(text))
    for path in sorted((root / "notebooks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for part in SECRET_PART.finditer(text):
            yield path.relative_to(root).as_posix(), _dedented(part[1]), text.count("\n", 0, part.start(1)) + 1


def _shown(root: Path) -> set[str]:
    """Fingerprints of what notebooks themselves show beside their solutions and hidden tests."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((root / "notebooks").rglob("*.py")))
    cells = (cell for text in texts for cell in SECRET_PART.sub("", text).split("\n# %%"))
    return {found.print for cell in cells for found in (*of_text(cell), *of_code(cell))}


def _bodies(text: str) -> Iterator[tuple[str, int]]:
    """The statements of each function, without its docstring."""
    source = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
                yield _dedented("\n".join(source[first - 1 : last])), first


def _dedented(code: str) -> str:
    """Code with the indentation of its first line taken off."""
    lines = code.splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line[indent:] for line in lines)
