"""Right submissions, and every small edit of their syntax trees, each as the text of a file.

mutmut's own runner keeps all mutants in one module and selects one by an environment variable. Here a submission is
text, which a worker imports in a process of its own, so only mutmut's operators are used, and more of ``operators.py``.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple, cast

import libcst as cst
import libcst.matchers as m

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.styles import COMBINATIONS, style

REFERENCE: Final = "ref"
SOURCES: Final = 20
SLOW: Final = "compiled"  # styles with such an option take seconds for each import


@dataclass(frozen=True)
class Mutant:
    """A right submission with one edit.

    Attributes:
        source: The right submission: ``ref``, or the name of a style.
        path: The path of the changed file in it.
        where: The class or function around the change, such as ``Layer.forward``.
        before: The changed lines, without their indentation.
        after: The lines that replace them.
        text: The whole changed file.
    """

    source: str
    path: str
    where: str
    before: str
    after: str
    text: str = field(repr=False)

    @property
    def name(self) -> str:
        """The name in the table of explanations. It has no line number, which would change with edits above it."""
        return f"{self.source}, {self.path}, {self.where}: {self.before} -> {self.after}"


def sources() -> dict[str, Mapping[str, str]]:
    """The files of the reference, and of those styles that have most options which no earlier one has."""
    found: dict[str, Mapping[str, str]] = {REFERENCE: ASSIGNMENT.solution()}
    styles = [one for one in map(style, range(COMBINATIONS)) if not any(SLOW in option for option in one.options)]
    seen: set[str] = set()
    while len(found) < SOURCES:
        best = max(styles, key=lambda one: (len({*one.options} - seen), -one.number))
        seen |= {*best.options}
        found[best.name] = best.submission(ASSIGNMENT).files
    return found


class Edit(NamedTuple):
    """An edit of a file: the number of its operator, the file's tree, a node of it, and what replaces that."""

    path: str
    operator: int
    module: Any
    node: Any
    other: Any


def mutants(source: str, files: Mapping[str, str]) -> Iterator[Mutant]:
    """All edits of a submission: one of each operator in turn, those of an operator in the order of digests."""
    from mutmut.mutation.file_mutation import deep_replace  # takes seconds, so --help should not import it

    edits = [(number, edit) for path, text in sorted(files.items()) for number, edit in enumerate(_edits(path, text))]
    edits.sort(key=lambda one: hashlib.sha256(f"{source} {one[1].path} {one[0]}".encode()).digest())
    turns: Counter[int] = Counter()
    rounds: dict[int, list[Edit]] = defaultdict(list)
    for _, edit in edits:
        turns[edit.operator] += 1
        rounds[turns[edit.operator]].append(edit)
    seen = set()
    for edit in chain.from_iterable(rounds.values()):
        text = cast(Any, deep_replace(edit.module, edit.node, edit.other)).code
        if text not in seen and _is_another_program(files[edit.path], text):
            seen.add(text)
            yield _mutant(source, edit.path, files[edit.path], text)


def _edits(path: str, text: str) -> Iterator[Edit]:
    """Every edit inside a function of a file, but for annotations."""
    import libcst as cst
    from mutmut.mutation.mutators import mutation_operators

    from .operators import OPERATORS

    module = cst.parse_module(text)

    def within(node: cst.CSTNode, inside: bool) -> Iterator[Edit]:
        if isinstance(node, cst.Annotation):
            return
        inside = inside or isinstance(node, cst.FunctionDef)
        for number, (kind, operator) in enumerate([*mutation_operators, *OPERATORS] if inside else ()):
            if isinstance(node, kind):
                yield from (Edit(path, number, module, node, other) for other in operator(node))
        for child in node.children:
            yield from within(child, inside)

    return within(module, False)


def _is_another_program(text: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) != ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _mutant(source: str, path: str, original: str, text: str) -> Mutant:
    old, new = original.splitlines(), text.splitlines()
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    _, first, last, start, end = next(block for block in blocks if block[0] != "equal")
    return Mutant(
        source, path, _definition(original, first + 1), _joined(old[first:last]), _joined(new[start:end]), text
    )


def _joined(lines: list[str]) -> str:
    return " ".join(line.partition("  # ")[0].strip() for line in lines)


def _definition(source: str, line: int) -> str:
    """The qualified name of the innermost definition around a line."""
    names, body = [], ast.parse(source).body
    while inner := next((node for node in body if _is_around(node, line)), None):
        assert isinstance(inner, (ast.ClassDef, ast.FunctionDef))
        names.append(inner.name)
        body = inner.body
    return ".".join(names)


def _is_around(node: ast.stmt, line: int) -> bool:
    return isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.lineno <= line <= (node.end_lineno or 0)


Nodes = Iterator[cst.CSTNode]

WORDS: Final = (  # the first becomes the second
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


def other_word(node: cst.Name) -> Nodes:
    """Another dtype, function or kind of tensor."""
    yield from (node.with_changes(value=other) for word, other in map(str.split, WORDS) if word == node.value)


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


def one_operand(node: cst.BinaryOperation) -> Nodes:
    """Either side alone."""
    yield from (parsed(code(side)) for side in (node.left, node.right))


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


def one_branch(node: cst.If) -> Nodes:
    """A condition never holds, or always."""
    yield from (node.with_changes(test=cst.Name(value)) for value in ("False", "True"))


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
    (cst.Name, other_word),
    *((cst.Call, operator) for operator in (no_call, in_place, swapped)),
    (cst.Tuple, swapped),
    (cst.Call, frozen),
    *((cst.BinaryOperation, operator) for operator in (in_place_symbol, one_operand, rounded_up)),
    (cst.ComparisonTarget, other_comparison),
    (cst.Return, detached),
    (cst.If, one_branch),
    (cst.SimpleStatementLine, no_statement),
    (cst.IndentedBlock, other_order),
    (cst.FunctionDef, partial(decorated, '__import__("torch").no_grad()')),
    (cst.FunctionDef, partial(decorated, '__import__("functools").lru_cache(None)')),
    (cst.FunctionDef, fixed_argument),
    (cst.FunctionDef, remembered),
]
