"""Small edits of a submission's lines: the slips of a hand, and the questions of a reviewer.

An edit replaces one piece of one line, so that line numbers and everything else stay as they were.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .source import Source

COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    **{ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE)},
    **{ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,)},
}
OPERATORS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv},
    **{ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr},
}
NAMES: Final[Mapping[str, str]] = {
    **{"sqrt": "square", "rsqrt": "sqrt", "mean": "sum", "sum": "mean", "float32": "float64", "square": "abs"},
    **{"cos": "sin", "sin": "cos", "logical_or": "logical_and", "logical_and": "logical_or", "ceil": "floor"},
    **{"uniform_": "normal_", "normal_": "uniform_", "repeat_interleave": "repeat", "repeat": "repeat_interleave"},
}
MODULES: Final = frozenset({"torch", "nn", "F", "math", "init", "functional", "self", "super"})


@dataclass(frozen=True)
class Edit:
    """One line of one file, written in another way; ``new`` is empty where the line is deleted."""

    path: str
    line: int
    old: str
    new: str

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The submission with the edit; a deleted line leaves ``pass`` behind, so that its block is not empty."""
        lines = files[self.path].splitlines()
        indent = self.old[: len(self.old) - len(self.old.lstrip())]
        lines[self.line - 1] = self.new or f"{indent}pass"
        return {**files, self.path: "\n".join(lines) + "\n"}


def edits_of(path: str, source: Source, lines: frozenset[int]) -> Iterator[Edit]:
    """Every edit of those lines that leaves the file valid Python, each text once."""
    whole = [source.code.get(number, "") for number in range(1, max(source.code, default=0) + 1)]
    seen = set[tuple[int, str]]()
    for node in ast.walk(source.tree):
        line = getattr(node, "lineno", 0)
        if line not in lines or getattr(node, "end_lineno", 0) != line:
            continue
        for replaced, by in _replacements(node):
            new = _spliced(whole[line - 1], replaced, by)
            bare = _spliced(whole[line - 1], replaced, by[1:-1]) if by.startswith("(") else new
            if _tree(whole, line, bare) == _tree(whole, line, new):
                new = bare  # brackets that nobody would have written say which line was altered
            if new != whole[line - 1] and (line, new) not in seen and _tree(whole, line, new):
                seen.add((line, new))
                yield Edit(path, line, whole[line - 1], "" if by == "pass" else new)


def _replacements(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes, and the text that takes the place of each."""
    match node:
        case ast.Call(func=ast.Attribute(value=value)) if _last_name(value) not in MODULES:
            yield node, ast.unparse(value)  # no cast, no clamp, no mask, no clone
        case ast.Compare(ops=[sign], left=left, comparators=[right]):
            for by in COMPARISONS.get(type(sign), ()):
                yield node, ast.unparse(ast.Compare(left, [by()], [right]))
        case ast.BinOp(left=left, op=sign, right=right):
            if type(sign) in OPERATORS:
                yield node, f"({ast.unparse(ast.BinOp(left, OPERATORS[type(sign)](), right))})"
            yield from ((node, f"({ast.unparse(side)})") for side in (left, right))
        case ast.UnaryOp(operand=operand):
            yield node, ast.unparse(operand)
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Attribute(attr=name, value=value) if name in NAMES:
            yield node, f"{ast.unparse(value)}.{NAMES[name]}"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield node, "pass"
        case ast.Assign(targets=[*targets], value=value) if _names(*targets) & _names(value) or _attributes(targets):
            yield node, "pass"  # a name that is assigned for the first time would be missing, which asks nothing
    match node:  # eps outside the root: f(a + b) becomes f(a) + b, and (a + b).f() becomes a.f() + b
        case ast.Call(args=[ast.BinOp(left=left, op=ast.Add(), right=right)], keywords=[]):
            yield node, f"({ast.unparse(ast.Call(node.func, [left], []))} + {ast.unparse(right)})"
        case ast.Call(func=ast.Attribute(value=ast.BinOp(left=left, op=ast.Add(), right=right), attr=name), args=[]):
            yield node, f"({ast.unparse(left)}.{name}() + {ast.unparse(right)})"


def _names(*nodes: ast.AST) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {"self"}


def _attributes(targets: list[ast.expr]) -> bool:
    return any(isinstance(node, ast.Attribute | ast.Subscript) for target in targets for node in ast.walk(target))


def _last_name(value: ast.expr) -> str:
    """What a function is looked up in: the last name of a module, or ``super`` of ``super()``."""
    value = value.func if isinstance(value, ast.Call) and not value.args else value
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _spliced(line: str, node: ast.AST, by: str) -> str:
    """The line with other text for a node, whose columns count bytes."""
    data, start, end = line.encode(), node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    return (data[:start] + by.encode() + data[end:]).decode()


def _tree(lines: list[str], line: int, new: str) -> str:
    """The syntax tree of a file with another line; empty if that is no valid Python."""
    try:
        return ast.dump(ast.parse("\n".join([*lines[: line - 1], new, *lines[line:]])))
    except SyntaxError:
        return ""
