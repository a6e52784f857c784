"""Fingerprints of code by text and by syntax tree, which are the same in a page, a notebook and a Python file."""

from __future__ import annotations

import ast
import base64
import html
import json
import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

LEAST_CHARACTERS = 24  # of a line; two authors may write the same shorter line by chance
LEAST_NODES = 16  # of a statement's tree; two authors may write the same smaller statement by chance
# What students do not get of a notebook's cell.
SECRET_PART = re.compile(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", re.DOTALL)
_COMMENT = re.compile(r"\s+#.*$")
_ONE_NAME = re.compile(r"\W*\w+\W*")  # as a list has it; others may name the same thing
_TAG = re.compile(r"<[^<>\n]*>")
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""", re.DOTALL)  # of JavaScript
_ESCAPE = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4})\}?|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_PRE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL)
_DRAWN = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_DATA = re.compile(r"(?<=;base64,)[A-Za-z0-9+/=]+")
_FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Fingerprint:
    """A line or a statement, reduced to what stays the same in a copy, and its line number."""

    print: str
    line: int


def squeezed(text: str) -> str:
    """The text without spaces."""
    return "".join(text.split())


def of_lines(code: str) -> Iterator[Fingerprint]:
    """A fingerprint of each line of code that is long enough, without spaces and the comment behind it."""
    for number, line in enumerate(code.splitlines(), start=1):
        bare = squeezed(_COMMENT.sub("", line.lstrip(" #>|*+@-.")))
        if len(bare) >= LEAST_CHARACTERS and not _ONE_NAME.fullmatch(bare):
            yield Fingerprint(bare, number)


class Lines:
    """Fingerprints of lines, to be found anywhere in a text: in a comment, a string, markup or a longer line."""

    def __init__(self, prints: Iterable[str]) -> None:
        """Sort the fingerprints by how they begin."""
        self._beginning: dict[str, list[str]] = defaultdict(list)
        for found in prints:
            self._beginning[found[:LEAST_CHARACTERS]].append(found)

    def within(self, text: str) -> Iterator[Fingerprint]:
        """Those that a text holds, each with the line on which it begins."""
        lines = [*map(squeezed, text.split("\n"))]
        ends, whole = [*accumulate(map(len, lines))], "".join(lines)
        for start in range(len(whole) - LEAST_CHARACTERS + 1):
            for found in self._beginning.get(whole[start : start + LEAST_CHARACTERS], ()):
                if whole.startswith(found, start):
                    yield Fingerprint(found, bisect(ends, start) + 1)


def of_code(source: str) -> Iterator[Fingerprint]:
    """A fingerprint of each statement that is large enough; it has no names, so a copy with other names is found."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.Expr(value=ast.Constant()):
                continue
            case ast.stmt() if (text := shape(node, LEAST_NODES)) is not None:
                yield Fingerprint(text, node.lineno)


def shape(tree: ast.stmt | ast.expr, least: int, *, numbers: bool = True) -> str | None:
    """The nodes of a tree, its names numbered in order of appearance; None if there are fewer than ``least``.

    Two smaller trees are alike by chance. Without ``numbers``, their values do not count.
    """
    nodes = [node for node in ast.walk(tree) if not isinstance(node, ast.expr_context | ast.operator)]
    if len(nodes) < least:
        return None
    names: dict[str, int] = {}
    parts = []
    for node in nodes:
        parts.append(type(node).__name__)
        if isinstance(node, ast.Name):
            parts.append(f"name {names.setdefault(node.id, len(names))}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            parts.append(f"own {names.setdefault(f'self.{node.attr}', len(names))}")  # a name that its author chose
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
        elif isinstance(node, ast.Constant) and (numbers or isinstance(node.value, str)):
            parts.append(repr(node.value))
        elif isinstance(node, ast.BinOp | ast.UnaryOp):
            parts.append(type(node.op).__name__)
        elif isinstance(node, ast.keyword):
            parts.append(str(node.arg))
    return " ".join(parts)


def code_in(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The pieces of Python in a file, each after the name of its place, such as a cell of a notebook."""
    if path.endswith(".py"):
        yield path, text
    elif path.endswith(".ipynb"):
        for number, cell in enumerate(json.loads(text)["cells"], start=1):
            if cell["cell_type"] == "code":
                yield f"{path}, cell {number}", "".join(cell["source"])
            else:
                yield from ((f"{path}, cell {number}", code) for code in _FENCE.findall("".join(cell["source"])))
    elif path.endswith(".html"):
        yield from ((path, html.unescape(_TAG.sub("", code))) for code in _PRE.findall(text))
    else:
        yield from ((path, code) for code in _FENCE.findall(text))
    if not path.endswith((".py", ".ipynb")):
        yield from ((f"{path}, script", literal) for literal in _literals(path, text))


def text_in(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The texts in a file, each after the name of its place: cells and outputs of a notebook, or the whole file.

    A text with markup is yielded with and without it. A page is followed by its pictures, and by the strings of its
    scripts as one text.
    """
    if path.endswith(".ipynb"):
        book = json.loads(text)
        places = [(f"{path}, cell {number}", cell) for number, cell in enumerate(book.pop("cells"), start=1)]
        pieces = [(place, "\n".join(strings(part))) for place, part in (*places, (f"{path}, metadata", book))]
    else:
        pictures = (base64.b64decode(found).decode("utf-8", errors="replace") for found in _DRAWN.findall(text))
        pieces = [(path, _DATA.sub("", text)), *((f"{path}, a picture", picture) for picture in pictures)]
        pieces.append((f"{path}, script", "".join(_literals(path, text))))
    for place, piece in pieces:
        yield place, html.unescape(piece)
        if "<" in piece:
            yield place, html.unescape(_TAG.sub("", piece))


def _literals(path: str, text: str) -> list[str]:
    """The strings in the JavaScript of a file, which one after the other may be a text as well."""
    script = text if path.endswith(".js") else "\n".join(_SCRIPT.findall(text))
    return [_ESCAPE.sub(_unescaped, found[2]) for found in _STRING.finditer(script)]


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "\n": ""}.get(escape[3], escape[3])


def strings(value: object) -> Iterator[str]:
    """Every string in a JSON value, at any depth, keys too; a list of lines, as Jupyter keeps text, is joined."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield "".join(value)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
