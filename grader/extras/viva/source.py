"""Lines of a submission: as a question shows them, and small edits of them, such as slips of a hand.

An edit replaces a pattern in the text of one line, so that the rest of the line stays as its author wrote it. What the
result means is found by running it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Place = tuple[str, int]  # path and line
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    **{"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",)},
    **{"+": ("-",), "-": ("+",), "*": ("/",), "//": ("%",), "%": ("//",), "|": ("&",), "&": ("|",)},
}
FUNCTIONS: Final[Mapping[str, str]] = {
    **{"sqrt": "square", "rsqrt": "sqrt", "mean": "sum", "sum": "mean", "float32": "float64", "square": "abs"},
    **{"cos": "sin", "sin": "cos", "logical_or": "logical_and", "logical_and": "logical_or", "ceil": "floor"},
    **{"uniform_": "normal_", "normal_": "uniform_", "repeat_interleave": "repeat", "repeat": "repeat_interleave"},
}
WORDS: Final[Mapping[str, str]] = {
    **{"True": "False", "False": "True", "and": "or", "or": "and"},
    **{str(number): str(number + 1) for number in range(10)},
}
CALL: Final = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # brackets in brackets in brackets
TERM: Final = rf"(?<![\w.])[\w.]+(?:{CALL}|\[[^][]*\])*"
BEFORE, AFTER = r"(?<=[\w)\]])(?<!return)", r"(?=[\w(-])"  # an operator of two operands is between these
OBJECT: Final = BEFORE + "".join(
    rf"(?<!\b{name})" for name in ["torch", "nn", "F", "math", "init", "functional", "self"]
)
RULES: Final = (
    *((rf"{BEFORE}( ?){re.escape(old)}( ?){AFTER}", rf"\1{new}\2") for old, by in OPERATORS.items() for new in by),
    *((rf"(?<=\.){old}\b|\b{old}(?=\()", new) for old, new in FUNCTIONS.items()),
    *((rf"(?<![\w.]){old}(?![\w.])", new) for old, new in WORDS.items()),
    (rf"{OBJECT}(?<!super\(\))\.\w+{CALL}", ""),  # no cast, no clamp, no mask, no clone
    (rf"{BEFORE} ?(?:\*\*|//|[-+*/%|&]) ?{TERM}", ""),  # one operand alone
    (rf"{TERM} ?(?:\*\*|//|[-+*/%|&]) ?{AFTER}", ""),
    (r"(?<=[\[( =,])-(?=[\w(])", ""),
    (rf"([\w.]*sqrt)\(({TERM}) \+ ({TERM})\)", r"(\1(\2) + \3)"),  # eps outside the root
    (rf"\(({TERM}) \+ ({TERM})\)((?:\.\w+\(\))+)", r"(\1\3 + \2)"),
)
# What may be deleted, since no name is missing then: errors raised, calls, and changes of something that exists
CAN_GO: Final = re.compile(r"raise\b|[\w.]+\(.*\)$|[\w.]+(?:\[.*\])? [-+*/|&]= |\w+[.\[].* = |(\w+) = .*\b\1\b")
STRING: Final = re.compile(r"""(["'])(?:\\.|(?!\1).)*\1""")
MOST_LENGTH = 200  # of a line that is edited: patterns take long on longer ones


@dataclass(frozen=True)
class Edit:
    """One line of one file, written in another way; ``new`` is empty where the line is deleted."""

    place: Place
    old: str
    new: str

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The submission with the edit; a deleted line leaves ``pass`` behind, so that its block is not empty."""
        path, line = self.place
        lines = files[path].splitlines()
        lines[line - 1] = self.new or re.sub(r"\S.*", "pass", self.old)
        return {**files, path: "\n".join(lines) + "\n"}


def edits_of(place: Place, old: str) -> Iterator[Edit]:
    """Every edit of a line that holds a whole statement, or the head of one, each text once."""
    if _is_statement(old) and len(old) <= MOST_LENGTH:
        found = ((match, new) for pattern, new in RULES for match in re.finditer(pattern, old))
        news = dict.fromkeys(f"{old[: match.start()]}{match.expand(new)}{old[match.end() :]}" for match, new in found)
        for new in news:
            changes = STRING.sub("", new) != STRING.sub("", old) and not re.fullmatch(r"[\w.]+", new.strip())
            if changes and _is_statement(new):
                yield Edit(place, old, new)
        if CAN_GO.match(old.lstrip()):
            yield Edit(place, old, "")


def _is_statement(line: str) -> bool:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        ast.parse(line.strip() + " pass" * line.endswith(":"))
        return True
    return False


class Source:
    """One file of a submission, without comments and docstrings, which may hold names or answers.

    Attributes:
        code: By number, its lines that are not empty.
        functions: By number, the innermost function that a line is in.
    """

    def __init__(self, text: str) -> None:
        """Parse it."""
        tree, lines = ast.parse(text), text.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
        self.functions: dict[int, ast.FunctionDef] = {}
        for node in ast.walk(tree):  # outer functions before inner ones
            if isinstance(node, ast.FunctionDef):
                self.functions |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                omitted = [f"{' ' * node.col_offset}...", *[""] * ((node.end_lineno or 0) - node.lineno)]
                lines[node.lineno - 1 : node.end_lineno] = omitted
        self.code = {number: line.rstrip() for number, line in enumerate(lines, 1) if line.strip()}

    def inside(self, line: int) -> str:
        """The line of code; empty outside of functions."""
        return self.code.get(line, "") if line in self.functions else ""

    def name(self, line: int) -> str:
        """The name of the function that a line is in."""
        return self.functions[line].name

    def near(self, line: int) -> list[int]:
        """The numbers of the lines of code of its function."""
        function = self.functions[line]
        return [number for number in self.code if function.lineno <= number <= (function.end_lineno or 0)]

    def altered(self, line: int, new: str) -> str:
        """The function around a line, numbered, with other text for the line."""
        texts = {number: self.code[number] for number in self.near(line)} | {line: new}
        margin = min(len(text) - len(text.lstrip()) for text in texts.values())
        return "\n".join(f"{number:>4}   {text[margin:]}" for number, text in texts.items())

    def alone(self, line: int, new: str | None = None) -> str:
        """A line, numbered, below the name of its function, and what it would be instead, unless it is deleted.

        The rest is not shown: its author knows it, and others have to look for it.
        """
        head = f"{self.functions[line].lineno:>4}   def {self.name(line)}(…):"
        signs = {" ": self.code[line]} if new is None else {"-": self.code[line], "+": new}
        return "\n".join([head, *(f"{line:>4} {sign}     {text.lstrip()}" for sign, text in signs.items() if text)])


def sources(files: Mapping[str, str]) -> dict[str, Source]:
    """The files that are valid Python."""
    found = {}
    for path, text in files.items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            found[path] = Source(text)
    return found
