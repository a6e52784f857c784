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
    """One line of one file, written in another way; ``new`` is empty where the line is deleted, None if it stays."""

    place: Place
    old: str = ""
    new: str | None = None

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The submission with the edit; a deleted line leaves ``pass`` behind, so that its block is not empty."""
        path, line = self.place
        lines = files[path].splitlines()
        lines[line - 1] = self.new or re.sub(r"\S.*", "pass", self.old)
        return {**files, path: "\n".join(lines) + "\n"}


def edits_of(place: Place, old: str) -> Iterator[Edit]:
    """Every edit of a line that holds a whole statement, or the head of one, each text once."""
    if len(old) <= MOST_LENGTH and _is_statement(old):
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
        functions: By line, the name of the innermost function that it is in, and the function's lines, by number.
    """

    def __init__(self, text: str) -> None:
        """Parse it."""
        lines, nodes = text.splitlines(), [*ast.walk(ast.parse(text))]
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
        for node in nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                omitted = [f"{' ' * node.col_offset}...", *[""] * ((node.end_lineno or 0) - node.lineno)]
                lines[node.lineno - 1 : node.end_lineno] = omitted
        self.functions: dict[int, tuple[str, dict[int, str]]] = {}
        for node in (node for node in nodes if isinstance(node, ast.FunctionDef)):  # outer ones come first
            numbers = range(node.lineno, (node.end_lineno or 0) + 1)
            code = {number: lines[number - 1].rstrip() for number in numbers if lines[number - 1].strip()}
            self.functions |= dict.fromkeys(code, (node.name, code))

    def altered(self, line: int, new: str) -> str:
        """The function around a line, numbered, with other text for the line."""
        texts = {**self.functions[line][1], line: new}
        margin = min(len(text) - len(text.lstrip()) for text in texts.values())
        return "\n".join(f"{number:>4}   {text[margin:]}" for number, text in texts.items())

    def alone(self, line: int, new: str | None = None) -> str:
        """A line, numbered, below the name of its function, and what it would be instead, unless it is deleted.

        The rest is not shown: its author knows it, and others have to look for it.
        """
        name, code = self.functions[line]
        signs = {" ": code[line]} if new is None else {"-": code[line], "+": new}
        shown = [f"{line:>4} {sign}     {text.lstrip()}" for sign, text in signs.items() if text]
        return "\n".join([f"{min(code):>4}   def {name}(…):", *shown])


def sources(files: Mapping[str, str]) -> dict[str, Source]:
    """The files that are valid Python."""
    found = {}
    for path, text in files.items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            found[path] = Source(text)
    return found
