"""Searches a bundle for secrets: the reference, the grader, hidden tests, solutions of notebooks.

Every file of a bundle is compared by text and by syntax tree with every secret file. Docstrings, signatures and
imports do not count, since stubs share them with the reference. One line of a solution or of a hidden test is a leak.
A single line of the rest of the grader may be the same by chance, so only a whole statement or several lines are a
leak. What notebooks show to students, or the public tests share, is not secret, unless it solves a task.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.lab.fingerprints import SECRET_PART, Lines, code_in, of_code, of_lines, strings, text_in
from grader.lab.signatures.mistakes import more_than_mistakes
from grader.lab.site.notebooks import wording

CLUTTER = ("__pycache__", ".pytest_cache", ".ipynb_checkpoints", ".DS_Store")  # in no bundle
SECRET_FOLDERS = ("ref", "grader")
EXAMPLES = "grader/examples"  # not secret: other assignments, as are the tests of the engine, which use them
PASSAGE = 3  # the number of equal lines from one file of the grader that is a leak; from a hidden test it is 1
TELLING_NUMBERS = 4  # a list of cases in a hidden test is secret if it has at least so many numbers
SHARED = "grader/shared"  # not secret: the public tests use it, too
SIGNATURES = "tests/harness/signatures.json"
PARAMETRIZE = "pytest.mark.parametrize(\n"  # a first line that is no secret
TELLING_NAMES = re.compile(r"(?:^|/)(?:ref|grader|\.git|\.env|gradebook\.db)(?:/|$)|\.(?:pyc|db|sqlite)$")
CLOSED = re.compile(r"\.(?:zip|tar|t?gz|bz2|xz|7z|whl|pt|pth|pkl|npy|npz)$")
BINARY = (".pdf", ".png", ".woff2")
WEIGHTS = ".safetensors"


def leaks(bundle: Mapping[str, bytes], root: Path = REPOSITORY) -> Iterator[str]:
    """One line for each leak: the place in the bundle, what leaks, and which file of the repository it comes from."""
    origins, lines, statements = _secrets(root, tuple(ASSIGNMENT.solution_paths()))
    for path, data in sorted(bundle.items()):
        if path == SIGNATURES:
            yield from (f"{path}: {more}" for more in more_than_mistakes(data, ASSIGNMENT.rubric))
        if TELLING_NAMES.search(path):
            yield f"{path}: is not a file for students"
        if path.endswith(BINARY):
            continue
        try:
            pieces = texts_of_weights(data) if path.endswith(WEIGHTS) else [data.decode("utf-8")]
        except UnicodeDecodeError:
            pieces = []
        if CLOSED.search(path) or (data and not pieces):
            yield f"{path}: cannot be inspected"
            continue
        for text in pieces:
            yield from _in_text(path, text, lines, origins)
            for place, code in [(path, text)] if path.endswith(WEIGHTS) else code_in(path, text):
                for found in of_code(code):
                    if origin := statements.get(found.print):
                        yield f"{place}:{found.line}: the same statement as {origin}"


def _in_text(path: str, text: str, lines: Lines, origins: Mapping[str, str]) -> Iterator[str]:
    """The leaks in the text of one file."""
    hits: dict[str, dict[str, None]] = {}  # a text is searched with and without its markup
    for place, piece in text_in(path, text):
        for found in lines.within(piece):
            file = origins[found.print].rpartition(":")[0]
            hits.setdefault(file, {})[f"{place}:{found.line}: the same line as {origins[found.print]}"] = None
    for file, found_lines in hits.items():
        telling = not file.startswith("grader/") or file.startswith("grader/assignment/hidden/")
        if telling or len(found_lines) >= PASSAGE:
            yield from found_lines


@cache
def _secrets(root: Path, solution: tuple[Path, ...]) -> tuple[dict[str, str], Lines, dict[str, str]]:
    """The places of secret lines, these lines as an index, and the places of secret statements."""
    origins: dict[str, str] = {}
    statements: dict[str, str] = {}
    notebooks = [*_notebooks(root)]
    found = [
        (secret, one.print, f"{origin}:{start + one.line - 1}", root / origin in solution)
        for origin, code, start in _secret_code(root, notebooks)
        for secret, prints in ((origins, of_lines(code)), (statements, of_code(code)))
        for one in prints
    ]
    shared = [(path, path.read_text(encoding="utf-8")) for path in sorted((root / SHARED).rglob("*.py"))]
    shown = _shown([*notebooks, *shared], Lines(fingerprint for secret, fingerprint, *_ in found if secret is origins))
    for secret, fingerprint, place, solves in found:
        if solves or fingerprint not in shown:
            secret.setdefault(fingerprint, place)
    return origins, Lines(origins), statements


def _secret_code(root: Path, notebooks: Iterable[tuple[Path, str]]) -> Iterator[tuple[str, str, int]]:
    """The code that students must not get, in pieces: the path of the file, the code, and its first line's number."""
    for folder in SECRET_FOLDERS:
        paths = sorted((root / folder).rglob("*.py"))
        for path in paths:
            ours = "selftest" in path.parts and not path.is_relative_to(root / "grader" / "assignment")
            if ours or any(path.is_relative_to(root / shared) for shared in (EXAMPLES, SHARED)):
                continue
            text = path.read_text(encoding="utf-8")
            pieces = (*_bodies(text), *(_cases(text) if path.parent.name == "hidden" else ()))
            yield from ((path.relative_to(root).as_posix(), *piece) for piece in pieces)
    for path, text in notebooks:
        for part in SECRET_PART.finditer(text):
            yield path.relative_to(root).as_posix(), dedent(part[1]), text.count("\n", 0, part.start(1)) + 1


def _notebooks(root: Path) -> Iterator[tuple[Path, str]]:
    """The script of each notebook, in English and in Chinese."""
    for path in sorted((root / "notebooks").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path, text
        if words := wording.table(path):
            yield path, wording.translated(text, words)


def _shown(known: Iterable[tuple[Path, str]], lines: Lines) -> set[str]:
    """Fingerprints of what files show to students; of notebooks, without their solutions and hidden tests."""
    cells = (cell for _, text in known for cell in SECRET_PART.sub("", text).split("\n# %%"))
    return {found.print for cell in cells for found in (*lines.within(cell), *of_code(cell))}


def _bodies(text: str) -> Iterator[tuple[str, int]]:
    """The body of each function, without its docstring, and the number of its first line."""
    source = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield dedent("\n".join(source[body[0].lineno - 1 : body[-1].end_lineno])), body[0].lineno


def _cases(text: str) -> Iterator[tuple[str, int]]:
    """The numbers of hidden tests, in decorators such as ``parametrize`` and in constants, and their first line."""
    tree, source = ast.parse(text), text.splitlines()
    functions = (item for item in tree.body if isinstance(item, ast.FunctionDef))
    decorators: list[ast.expr | ast.stmt] = [node for function in functions for node in function.decorator_list]
    for node in (*decorators, *(item for item in tree.body if isinstance(item, ast.Assign))):
        piece = "\n".join(source[node.lineno - 1 : node.end_lineno])[node.col_offset :]
        if len(re.findall(r"\b\d", piece)) >= TELLING_NUMBERS:
            told = piece.removeprefix(PARAMETRIZE)
            yield told, node.lineno + (told != piece)


_TEXT = re.compile(rb"[\t\n\x20-\x7e]{24,}")  # no weights look like that by chance


def texts_of_weights(data: bytes) -> list[str]:
    """Every text in the header.

    There is none if the file is no safetensors file, or holds more than the tensors that its header names, or a text
    among the numbers.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        spans = sorted(tuple(entry["data_offsets"]) for name, entry in header.items() if name != "__metadata__")
        gaps = any(before[1] != after[0] for before, after in pairwise([(0, 0), *spans, (len(data) - start, 0)]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return []
    return [] if gaps or _TEXT.search(data, start) else [*strings(header)]
