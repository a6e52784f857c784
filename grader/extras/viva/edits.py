"""Small edits of a submission's lines: the slips of a hand, and the questions of a reviewer.

An edit replaces one piece of one line, so that line numbers and everything else stay as they were.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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
        if line in lines and getattr(node, "end_lineno", 0) == line:
            old = whole[line - 1]
            edited = [new for by in _replacements(node) if (new := _replaced(whole, node, by)) != old]
            for new in [*edited, ""] if _can_go(node) else edited:
                if (line, new) not in seen:
                    seen.add((line, new))
                    yield Edit(path, line, old, new)


def _replacements(node: ast.AST) -> Iterator[str]:
    """What could take the place of a node."""
    match node:
        case ast.Call(func=ast.Attribute(value=value)) if _last_name(value) not in MODULES:
            yield ast.unparse(value)  # no cast, no clamp, no mask, no clone
        case ast.Compare(ops=[sign], left=left, comparators=[right]):
            yield from (ast.unparse(ast.Compare(left, [by()], [right])) for by in COMPARISONS.get(type(sign), ()))
        case ast.BinOp(left=left, op=sign, right=right):
            if type(sign) in OPERATORS:
                yield ast.unparse(ast.BinOp(left, OPERATORS[type(sign)](), right))
            yield from (ast.unparse(left), ast.unparse(right))
        case ast.UnaryOp(operand=operand):
            yield ast.unparse(operand)
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Attribute(attr=name, value=value) if name in NAMES:
            yield f"{ast.unparse(value)}.{NAMES[name]}"
    match node:  # eps outside the root: f(a + b) becomes f(a) + b, and (a + b).f() becomes a.f() + b
        case ast.Call(args=[ast.BinOp(left=left, op=ast.Add(), right=right)], keywords=[]):
            yield f"{ast.unparse(ast.Call(node.func, [left], []))} + {ast.unparse(right)}"
        case ast.Call(func=ast.Attribute(value=ast.BinOp(left=left, op=ast.Add(), right=right), attr=name), args=[]):
            yield f"{ast.unparse(left)}.{name}() + {ast.unparse(right)}"


def _can_go(node: ast.AST) -> bool:
    """Whether it is a statement that leaves no name missing, since a crash asks nothing."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            return True
        case ast.Assign(targets=targets, value=value):
            inside = [inner for target in targets for inner in ast.walk(target)]
            return any(isinstance(inner, ast.Attribute | ast.Subscript) for inner in inside) or bool(
                _names(*targets) & _names(value)
            )
    return False


def _names(*nodes: ast.AST) -> set[str]:
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {"self"}


def _last_name(value: ast.expr) -> str:
    """What a function is looked up in: the last name of a module, or ``super`` of ``super()``."""
    value = value.func if isinstance(value, ast.Call) and not value.args else value
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _replaced(lines: list[str], node: Any, by: str) -> str:
    """A node's line with other text for it, in brackets only if needed; unchanged where that is no valid Python."""
    old = lines[node.lineno - 1].encode()  # columns count bytes
    before, after = old[: node.col_offset].decode(), old[node.end_col_offset :].decode()
    bare, bracketed = f"{before}{by}{after}", f"{before}({by}){after}"

    def tree(new: str) -> str:
        with contextlib.suppress(SyntaxError):
            return ast.dump(ast.parse("\n".join([*lines[: node.lineno - 1], new, *lines[node.lineno :]])))
        return ""

    meant = tree(bracketed)
    return old.decode() if not meant else bare if tree(bare) == meant else bracketed
