"""Small edits of a submission's lines: the slips of a hand, and the questions of a reviewer.

An edit replaces one piece of one line, so that line numbers and everything else stay as they were.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

Replaced = tuple[ast.AST, str]  # a node, and the text that takes its place

COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
OPERATORS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.FloorDiv: ast.Mod,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Mod: ast.FloorDiv,
}
NAMES: Final[Mapping[str, str]] = {
    **{"sqrt": "square", "rsqrt": "sqrt", "mean": "sum", "sum": "mean", "float32": "float64", "square": "abs"},
    **{"cos": "sin", "sin": "cos", "logical_or": "logical_and", "logical_and": "logical_or", "ceil": "floor"},
    **{"uniform_": "normal_", "normal_": "uniform_", "repeat_interleave": "repeat", "repeat": "repeat_interleave"},
    **{"zeros_like": "ones_like", "ones_like": "zeros_like"},
}
MODULES: Final = frozenset({"torch", "nn", "F", "math", "init", "functional", "np", "self"})


@dataclass(frozen=True)
class Edit:
    """One line of one file, written in another way.

    Attributes:
        line: Its number, from 1.
        old: The line as the student wrote it.
        new: The line as it is then; empty where it is deleted.
    """

    path: str
    line: int
    old: str
    new: str

    @property
    def new_code(self) -> str:
        """The new line without its comment."""
        with contextlib.suppress(tokenize.TokenError, IndentationError):
            for token in tokenize.generate_tokens(io.StringIO(self.new.strip()).readline):
                if token.type == tokenize.COMMENT:
                    return self.new[: self.new.rindex(token.string)].rstrip()
        return self.new.rstrip()

    @property
    def shown(self) -> str:
        """The same behind its indentation."""
        return self.new_code.strip()

    def applied(self, files: Mapping[str, str]) -> dict[str, str]:
        """The submission with the edit; a deleted line leaves ``pass`` behind, so that its block is not empty."""
        lines = files[self.path].splitlines(keepends=True)
        indent = self.old[: len(self.old) - len(self.old.lstrip())]
        lines[self.line - 1] = f"{self.new or f'{indent}pass'}\n"
        return {**files, self.path: "".join(lines)}


def edits_of(path: str, text: str, lines: frozenset[int]) -> Iterator[Edit]:
    """Every edit of those lines that leaves the file valid Python, each text once."""
    source, seen = text.splitlines(), set[tuple[int, str]]()
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        if line not in lines or node.end_lineno != line:  # type: ignore[attr-defined] # what has a line has an end
            continue
        old = source[line - 1]
        for replaced, by in _replacements(node):
            new = _spliced(old, replaced, by)
            if by.startswith("(") and _tree(source, line, bare := _spliced(old, replaced, by[1:-1])) == _tree(
                source, line, new
            ):
                new = bare
            if new != old and (line, new) not in seen and _tree(source, line, new):
                seen.add((line, new))
                yield Edit(path, line, old, "" if by == "pass" else new)


def _replacements(node: ast.AST) -> Iterator[Replaced]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if not _is_module(value) and name != "__init__":
            yield node, ast.unparse(value)  # no cast, no clamp, no mask, no clone
        case ast.Compare(ops=[sign], left=left, comparators=[right]):
            yield from (
                (node, ast.unparse(ast.Compare(left, [by()], [right]))) for by in COMPARISONS.get(type(sign), ())
            )
        case ast.BinOp(left=left, op=sign, right=right):
            if by := OPERATORS.get(type(sign)):
                yield node, f"({ast.unparse(ast.BinOp(left, by(), right))})"
            yield node, f"({ast.unparse(left)})"
            yield node, f"({ast.unparse(right)})"
        case ast.UnaryOp(operand=operand):
            yield node, ast.unparse(operand)
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Attribute(attr=name, value=value) if name in NAMES:
            yield node, f"{ast.unparse(value)}.{NAMES[name]}"
        case ast.If(test=test) if node.test.end_lineno == node.lineno:
            yield test, f"not ({ast.unparse(test)})"
            yield test, "True"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield node, "pass"
        case ast.Assign(targets=targets, value=value) if _names(*targets) & _names(value) or _attributes(targets):
            yield node, "pass"  # a name that is assigned for the first time would be missing, which asks nothing
    if isinstance(node, ast.Call):
        yield from _moved(node)


def _moved(node: ast.Call) -> Iterator[Replaced]:
    """``f(a + b)`` becomes ``f(a) + b``, and ``(a + b).f()`` becomes ``a.f() + b``: eps outside the root, say."""
    match node:
        case ast.Call(args=[ast.BinOp(left=left, op=ast.Add(), right=right)], keywords=[]):
            yield node, f"({ast.unparse(ast.Call(node.func, [left], []))} + {ast.unparse(right)})"
        case ast.Call(func=ast.Attribute(value=ast.BinOp(left=left, op=ast.Add(), right=right), attr=name), args=[]):
            yield node, f"({ast.unparse(left)}.{name}() + {ast.unparse(right)})"


def _names(*nodes: ast.AST) -> set[str]:
    """The names in these expressions."""
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)} - {"self"}


def _attributes(targets: list[ast.expr]) -> bool:
    """Whether attributes or items are assigned."""
    return any(isinstance(node, ast.Attribute | ast.Subscript) for target in targets for node in ast.walk(target))


def _is_module(value: ast.expr) -> bool:
    """Whether a function is looked up there, rather than a method; ``super()`` counts as well."""
    last = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return last in MODULES or (isinstance(value, ast.Call) and getattr(value.func, "id", "") == "super")


def _spliced(line: str, node: ast.AST, by: str) -> str:
    """The line with other text for a node, whose columns count bytes."""
    data, start, end = line.encode(), node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    return (data[:start] + by.encode() + data[end:]).decode()


def _tree(source: list[str], line: int, new: str) -> str:
    """The syntax tree of the file with another line; empty if that is no valid Python."""
    try:
        return ast.dump(ast.parse("\n".join([*source[: line - 1], new, *source[line:]])))
    except SyntaxError:
        return ""
