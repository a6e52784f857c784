"""Shows lines of a submission with their numbers, without comments and docstrings, which may hold names or answers."""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Mapping

from .edits import Edit

MOST_LINES = 26  # a question about a longer function shows the lines around the one that it asks about


class Source:
    """One file of a submission."""

    def __init__(self, text: str) -> None:
        """Find its functions, and the code of each line."""
        self._tree = ast.parse(text)
        self._code = _code(text, self._tree)

    def function(self, line: int) -> ast.FunctionDef | None:
        """The innermost function that a line is in."""
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    def code(self, line: int) -> str:
        """The code of a line, as it begins behind the indentation."""
        return self._code.get(line, "").strip()

    def lines_near(self, line: int) -> list[int]:
        """The numbers of the lines of its function that hold code, with those of a long one that are near."""
        function = self.function(line)
        last = (function.end_lineno or 0) if function else line
        held = [number for number in self._code if (function.lineno if function else line) <= number <= last]
        if len(held) <= MOST_LINES:
            return held
        place = min(max(held.index(line) - MOST_LINES // 2, 0), len(held) - MOST_LINES)
        return held[place : place + MOST_LINES]

    def listing(self, line: int, edit: Edit | None = None) -> str:
        """The function around a line, numbered; with an edit, the line as it is and as it would be."""
        numbers = self.lines_near(line)
        texts = {number: self._code[number] for number in numbers}
        margin = min((len(text) - len(text.lstrip()) for text in texts.values()), default=0)
        shown = []
        for number, text in texts.items():
            changed = edit is not None and number == line
            shown.append(f"{number:>4} {'-' if changed else ' '} {text[margin:]}")
            if edit is not None and changed and edit.new:
                shown.append(f"{number:>4} + {edit.new_code[margin:]}")
        return "\n".join(shown)


def sources(files: Mapping[str, str]) -> dict[str, Source]:
    """The files that are valid Python."""
    found = {}
    for path, text in files.items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            found[path] = Source(text)
    return found


def _code(text: str, tree: ast.Module) -> dict[int, str]:
    """The lines that hold code, by number."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return {number: line.rstrip() for number, line in enumerate(lines, 1) if line.strip()}
