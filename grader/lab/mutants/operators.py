"""Edits along the axes of submissions, beside mutmut's: dtype, device, history, seeds, sizes, in place, the graph.

Like mutmut's, an operator yields the nodes that may replace a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import libcst as cst
import libcst.matchers as m

Nodes = Iterator[cst.CSTNode]

WORDS: Final = (  # dtypes, functions and kinds of tensors: the first becomes the second
    *("float32 float16", "float32 float64", "float64 float32", "double float", "ceil floor", "mean sum", "any all"),
    *("rsqrt sqrt", "square abs", "clamp remainder", "Parameter Buffer", "reshape view", "empty_like zeros_like"),
    *("uniform_ normal_", "normal_ uniform_", "cos sin", "sin cos", "min max", "max min"),
    *("repeat repeat_interleave", "repeat_interleave repeat"),
)
IN_PLACE: Final = {"add", "sub", "mul", "div", "neg", "square", "sqrt", "rsqrt", "clamp", "masked_fill", "index_copy"}
IN_PLACE_TOO: Final = {f"{name}_" for name in IN_PLACE} | {"normal_", "uniform_", "copy_"}
SYMBOLS: Final = {cst.Multiply: "mul_", cst.Add: "add_", cst.Divide: "div_", cst.Subtract: "sub_"}
COMPARISONS: Final[Mapping[type[cst.BaseCompOp], type[cst.BaseCompOp]]] = {
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.Equal,
    cst.GreaterThan: cst.NotEqual,
    cst.GreaterThanEqual: cst.LessThanEqual,
    cst.Equal: cst.LessThanEqual,
}
MODULES: Final = {"torch", "nn", "F", "math", "nn.functional", "nn.init", "functools", "itertools", "torch.nn"}


def parsed(text: str) -> cst.BaseExpression:
    """The expression, in brackets."""
    return cst.parse_expression(f"({text})")


def code(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module([]).code_for_node(node)


def no_call(node: cst.Call) -> Nodes:
    """``x.f()`` or ``f(x)`` becomes ``x``: no conversion, move, clone, detach, parameter or reshape."""
    if isinstance(node.func, cst.Attribute) and code(node.func.value) not in MODULES:
        yield node.func.value
    elif node.args and node.args[0].keyword is None and not node.args[0].star:
        yield parsed(code(node.args[0].value))


def in_place(node: cst.Call) -> Nodes:
    """``x.add(y)`` becomes ``x.add_(y)``, and the reverse."""
    if isinstance(node.func, cst.Attribute) and (name := node.func.attr.value) in IN_PLACE | IN_PLACE_TOO:
        other = cst.Name(name[:-1] if name.endswith("_") else f"{name}_")
        yield node.with_changes(func=node.func.with_changes(attr=other))


def in_place_symbol(node: cst.BinaryOperation) -> Nodes:
    """``x * y`` becomes ``x.mul_(y)``."""
    if name := SYMBOLS.get(type(node.operator)):
        yield parsed(f"({code(node.left)}).{name}({code(node.right)})")


def rounded_up(node: cst.BinaryOperation) -> Nodes:
    """``a // b`` rounds up."""
    if isinstance(node.operator, cst.FloorDivide):
        yield parsed(f"-(-({code(node.left)}) // ({code(node.right)}))")


def swapped(node: cst.Call | cst.Tuple) -> Nodes:
    """The first two arguments, or elements, change places."""
    key = "args" if isinstance(node, cst.Call) else "elements"
    both: Sequence[Any] = getattr(node, key)
    if len(both) > 1 and not any(getattr(one, "keyword", None) or getattr(one, "star", "") for one in both[:2]):
        first, second = (one.with_changes(value=other.value) for one, other in zip(both[:2], both[1::-1], strict=True))
        yield node.with_changes(**{key: [first, second, *both[2:]]})


def other_comparison(node: cst.ComparisonTarget) -> Nodes:
    """Another comparison than mutmut's."""
    if other := COMPARISONS.get(type(node.operator)):
        yield node.with_changes(operator=other())


def detached(node: cst.Return) -> Nodes:
    """The result leaves the graph."""
    if node.value is not None:
        yield node.with_changes(value=parsed(f"({code(node.value)}).detach()"))


def frozen(node: cst.Call) -> Nodes:
    """A parameter that wants no gradient."""
    if code(node.func).endswith("Parameter"):
        yield node.with_changes(args=[*node.args, cst.Arg(cst.Name("False"), keyword=cst.Name("requires_grad"))])


def no_statement(node: cst.SimpleStatementLine) -> Nodes:
    """A statement is left out; a docstring is none."""
    if not m.matches(node, m.SimpleStatementLine(body=[m.Expr(value=m.SimpleString())])):
        yield node.with_changes(body=[cst.Pass()])


def other_order(node: cst.IndentedBlock) -> Nodes:
    """Two statements change places."""
    for place, (first, second) in enumerate(pairwise(node.body)):
        yield node.with_changes(body=[*node.body[:place], second, first, *node.body[place + 2 :]])


def decorated(decorator: str, node: cst.FunctionDef) -> Nodes:
    """A function without a graph, or with a memory of its calls."""
    yield node.with_changes(decorators=[*node.decorators, cst.Decorator(parsed(decorator))])


def fixed_argument(node: cst.FunctionDef) -> Nodes:
    """An argument always has its default value."""
    for parameter in node.params.params:
        if parameter.default is not None:
            line = cst.parse_statement(f"{parameter.name.value} = {code(parameter.default)}")
            yield node.with_changes(body=node.body.with_changes(body=[line, *node.body.body]))


def remembered(node: cst.FunctionDef) -> Nodes:
    """A method keeps what it has computed in its first call."""
    if node.params.params[:1] and node.params.params[0].name.value == "self" and node.name.value != "__init__":
        for found in m.findall(node.body, m.Assign()):
            assert isinstance(found, cst.Assign)
            name = code(found.targets[0].target).replace('"', "'")
            kept = parsed(f'self.__dict__.setdefault("_first {name}", ({code(found.value)}))')
            yield cst.ensure_type(node.deep_replace(found, found.with_changes(value=kept)), cst.FunctionDef)


OPERATORS: Final[Sequence[tuple[type[cst.CSTNode], Callable[[Any], Nodes]]]] = [
    (cst.Name, lambda node: (node.with_changes(value=new) for old, new in map(str.split, WORDS) if old == node.value)),
    *((cst.Call, operator) for operator in (no_call, in_place, swapped)),
    (cst.Tuple, swapped),
    (cst.Call, frozen),
    (cst.BinaryOperation, in_place_symbol),
    (cst.BinaryOperation, lambda node: (parsed(code(side)) for side in (node.left, node.right))),
    (cst.BinaryOperation, rounded_up),
    (cst.ComparisonTarget, other_comparison),
    (cst.Return, detached),
    (cst.If, lambda node: (node.with_changes(test=cst.Name(value)) for value in ("False", "True"))),
    (cst.SimpleStatementLine, no_statement),
    (cst.IndentedBlock, other_order),
    (cst.FunctionDef, partial(decorated, '__import__("torch").no_grad()')),
    (cst.FunctionDef, partial(decorated, '__import__("functools").lru_cache(None)')),
    (cst.FunctionDef, fixed_argument),
    (cst.FunctionDef, remembered),
]
