"""Lines of a submission with their numbers, without comments and docstrings, which may hold names or answers."""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Mapping

MOST_LINES = 26  # a question about a longer function shows the lines around the one that it asks about


class Source:
    """One file of a submission."""

    def __init__(self, text: str) -> None:
        """Parse it."""
        self.tree = ast.parse(text)
        self._functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        lines = text.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                omitted = [f"{' ' * node.col_offset}...", *[""] * ((node.end_lineno or 0) - node.lineno)]
                lines[node.lineno - 1 : node.end_lineno] = omitted
        self.code = {number: line.rstrip() for number, line in enumerate(lines, 1) if line.strip()}

    @property
    def assigned(self) -> dict[str, str]:
        """By the line where a statement of a function begins, the one name that it assigns, or ``return``."""
        names = dict[str, str]()
        for node in (node for function in self._functions for node in ast.walk(function)):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    names[str(node.lineno)] = name
                case ast.Return():
                    names[str(node.lineno)] = "return"
        return names

    def function(self, line: int) -> ast.FunctionDef | None:
        """The innermost function that a line is in."""
        around = [node for node in self._functions if node.lineno <= line <= (node.end_lineno or 0)]
        return max(around, key=lambda node: node.lineno, default=None)

    def name(self, line: int) -> str:
        """The name of that function; empty if there is none."""
        function = self.function(line)
        return function.name if function else ""

    def near(self, line: int) -> list[int]:
        """The numbers of the lines of code of its function; of a long one, those around it."""
        function = self.function(line)
        first, last = (function.lineno, function.end_lineno or 0) if function else (line, line)
        held = [number for number in self.code if first <= number <= last]
        place = min(max(held.index(line) - MOST_LINES // 2, 0), max(len(held) - MOST_LINES, 0))
        return held[place : place + MOST_LINES]

    def altered(self, line: int, new: str) -> str:
        """The function around a line, numbered, with other text for the line."""
        return self._numbered({number: self.code[number] for number in self.near(line)} | {line: new})

    def alone(self, line: int, new: str | None = None) -> str:
        """A line, numbered, below the name of its function, and what it would be instead, unless it is deleted.

        The rest is not shown: its author knows it, and others have to look for it.
        """
        function = self.function(line)
        head = {function.lineno: f"def {function.name}(…):"} if function else {}
        old = self.code[line].lstrip()
        shown = self._numbered({**head, line: f"    {old}"})
        if new is None:
            return shown
        lines = [*shown.splitlines()[:-1], f"{line:>4} -     {old}", f"{line:>4} +     {new.lstrip()}"]
        return "\n".join(lines if new else lines[:-1])

    @staticmethod
    def _numbered(texts: Mapping[int, str]) -> str:
        margin = min(len(text) - len(text.lstrip()) for text in texts.values())
        return "\n".join(f"{number:>4}   {text[margin:]}" for number, text in texts.items())


def sources(files: Mapping[str, str]) -> dict[str, Source]:
    """The files that are valid Python."""
    found = {}
    for path, text in files.items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            found[path] = Source(text)
    return found
