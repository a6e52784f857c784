"""Fingerprints of code by text and by syntax tree, which are the same in a page, a notebook and a Python file."""

from __future__ import annotations

import ast
import base64
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

LEAST_CHARACTERS = 24  # of a line; two authors may write the same shorter line by chance
LEAST_NODES = 16  # of a statement's tree; two authors may write the same smaller statement by chance
_COMMENT = re.compile(r"\s+#.*$")
_DECORATION = re.compile(
    r"^(?:[#>|*+@-]|\.\.\.|\d+[.:])\s*"
)  # comments, quotes, decorators, prompts, lists, line numbers
_TAG = re.compile(r"<[^<>]*>")
_PICTURE = re.compile(r"!\[(.*?)\]\(", re.DOTALL)
_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""", re.DOTALL)  # of JavaScript
_ESCAPE = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4})\}?|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_REMARK = re.compile(r"(?://|/\*)(.*)")  # of JavaScript
_STATEMENT = re.compile(r"^\s*(?:(?:const|let|var)\s+)?(.*?);?\s*$")  # of JavaScript
_PRE = re.compile(r"<pre[^>]*>(.*?)</pre>", re.DOTALL)
_DRAWN = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
_FENCE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Fingerprint:
    """A line or a statement, reduced to what stays the same in a copy, and its line number."""

    print: str
    line: int


def of_text(text: str) -> Iterator[Fingerprint]:
    """A fingerprint of each line that is long enough, without spaces, comments, quoting or markup."""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = html.unescape(_TAG.sub("", line)).strip()
        while (shorter := _DECORATION.sub("", bare)) != bare:
            bare = shorter
        squeezed = re.sub(r"\s+", "", _COMMENT.sub("", bare))
        if len(squeezed) >= LEAST_CHARACTERS:
            yield Fingerprint(squeezed, number)


def of_code(source: str) -> Iterator[Fingerprint]:
    """A fingerprint of each statement that is large enough; it has no names, so a copy with other names is found."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for statement in (node for node in ast.walk(tree) if isinstance(node, ast.stmt)):
        defines = isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import)
        if not defines and not _is_text(statement) and (text := shape(statement, LEAST_NODES)) is not None:
            yield Fingerprint(text, statement.lineno)


def shape(tree: ast.stmt | ast.expr, least: int, *, numbers: bool = True) -> str | None:
    """The nodes of a tree, its names numbered in order of appearance; None if there are fewer than ``least``.

    Args:
        tree: A statement or an expression.
        least: The number of nodes below which two trees are alike by chance.
        numbers: Whether the values of numbers count.
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


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


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
        yield from ((f"{path}, script", literal) for literal in _literals(_script(path, text)))


def text_in(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The texts in a file, each after the name of its place: cells and outputs of a notebook, or the whole file.

    Text that an HTML page contains but does not show is a piece of its own: attributes, comments, and pictures in them;
    of its scripts, the statements without what JavaScript puts around them, the comments, and the strings, alone and
    joined.
    """
    if path.endswith(".ipynb"):
        book = json.loads(text)
        for number, cell in enumerate(book.pop("cells"), start=1):
            yield from ((f"{path}, cell {number}", piece) for piece in strings(cell))
        yield from ((f"{path}, metadata", piece) for piece in strings(book))
        return
    yield path, text
    if path.endswith((".html", ".svg")):
        yield from ((f"{path}, unseen", piece) for piece in _Unseen(text).pieces)
        for picture in _DRAWN.findall(text):
            yield f"{path}, a picture", base64.b64decode(picture).decode("utf-8", errors="replace")
    elif path.endswith(".md"):
        yield from ((f"{path}, a picture's text", piece) for piece in _PICTURE.findall(text))
    if script := _script(path, text):
        statements = "\n".join(_STATEMENT.sub(r"\1", line) for line in script.splitlines())
        comments, literals = "\n".join(_REMARK.findall(script)), _literals(script)
        yield from ((f"{path}, script", piece) for piece in (statements, comments, *literals, "".join(literals)))


class _Unseen(HTMLParser):
    """Collects what an HTML page contains but does not show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.script = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.pieces += [value for _, value in attrs if value]

    def handle_comment(self, data: str) -> None:
        self.pieces.append(data)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.script += data


def _script(path: str, text: str) -> str:
    """The JavaScript in a file."""
    return text if path.endswith(".js") else _Unseen(text).script if path.endswith((".html", ".svg")) else ""


def _literals(script: str) -> list[str]:
    """The strings in a script, which one after the other may be a text as well."""
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
