"""Finds the words in a code cell (comments, docstrings and strings), and puts them into another language."""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asttokens

# A text needs a translation if it has two words; shapes, placeholders and names are the same in every language.
_SPEECH = re.compile(r"[A-Za-z]{3,}\W+(?:\w+\W+)*?[A-Za-z]{2,}")
_SILENT = re.compile(r"\[[^\]]*\]|\{[^}]*\}")


@dataclass(frozen=True)
class Piece:
    """One comment, line of a docstring, or string.

    Attributes:
        text: Its key in the table of words; a formatted string keeps its placeholders, in braces.
        start: Where it begins in the code, in characters.
        end: Where it ends, in characters.
        kind: ``comment``, ``docstring``, ``string`` or ``formatted``.
        spoken: Whether it needs a translation.
    """

    text: str
    start: int
    end: int
    kind: str
    spoken: bool


FIGURES = "figures"  # the section of a table with the words in figures


def table(script: Path) -> dict[str, str]:
    """The words of a script's code, from English to Chinese; empty if the script has no table."""
    return {english: other for english, other in _read(script).items() if isinstance(other, str)}


def in_figures(script: Path) -> dict[str, str]:
    """The words in figures, from English to Chinese; the handbook replaces them, since a browser has the fonts."""
    return dict(_read(script).get(FIGURES, {}))


def _read(script: Path) -> dict[str, Any]:
    path = script.with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def translated(code: str, words: Mapping[str, str]) -> str:
    """The code of a cell with its words translated; words that are not in the table stay as they are."""
    for piece in sorted(pieces(code) if words else (), key=lambda piece: -piece.start):
        if piece.text in words:
            code = code[: piece.start] + _written(words[piece.text], piece.kind) + code[piece.end :]
    return code


def placeholders(text: str) -> list[str]:
    """The placeholders of a formatted string, sorted."""
    return sorted(re.findall(r"(?<!\{)\{([^{}]+(?:\{[^{}]*\}[^{}]*)*)\}(?!\})", text))


def pieces(code: str) -> Iterator[Piece]:
    """Every piece of text in a cell's code."""
    source = asttokens.ASTText(code)
    for token in asttokens.ASTTokens(code, parse=False).tokens:
        if token.type == tokenize.COMMENT and not token.string.startswith("###"):
            text = token.string.lstrip("# ")
            yield Piece(text, token.endpos - len(text), token.endpos, "comment", _says(text))
    documented = [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    messages, firsts = set(_messages(source.tree)), [node.body[0] for node in documented]
    docstrings = {first.value for first in firsts if isinstance(first, ast.Expr)}
    for node in _strings(source.tree):
        start, end = source.get_text_range(node)
        if node in docstrings:
            yield from _lines(code, start, end)
        else:
            kind = "formatted" if isinstance(node, ast.JoinedStr) else "string"
            yield Piece(_key(node), start, end, kind, node in messages and _says(_key(node)))


def _lines(code: str, start: int, end: int) -> Iterator[Piece]:
    """The lines of a docstring, without quotes and indentation."""
    for line in re.finditer(r"[^\s\"](?:[^\n]*[^\s\"])?", code[start:end]):
        yield Piece(line[0], start + line.start(), start + line.end(), "docstring", _says(line[0]))


def _says(text: str) -> bool:
    return _SPEECH.search(_SILENT.sub("", text)) is not None


def _strings(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """All strings, each once; the parts of a formatted string are not listed again by themselves."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield node
        else:
            yield from _strings(node)


def _messages(tree: ast.AST) -> Iterator[ast.AST]:
    """Messages of ``assert``, and what is printed or heads a table, need a translation; text in figures does not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.keyword) and node.arg == "msg":
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "show_table"):
            yield from node.args
            yield from (one for heads in node.args if isinstance(heads, ast.List) for one in heads.elts)


def _key(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(_part(part) for part in node.values)


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value).replace("{", "{{").replace("}", "}}")
    assert isinstance(node, ast.FormattedValue)
    conversion = f"!{chr(node.conversion)}" if node.conversion > 0 else ""
    specification = f":{_key(node.format_spec)}" if node.format_spec else ""
    return f"{{{ast.unparse(node.value)}{conversion}{specification}}}"


def _written(text: str, kind: str) -> str:
    if kind in ("comment", "docstring"):
        return text
    literal = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'f"{literal}"' if kind == "formatted" else f'"{literal}"'
