"""What a test saw of the student's code: the last call with its arguments, and what an exception tells."""

import ast
import difflib
import importlib
import inspect
import linecache
import pdb
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial, wraps
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from . import rubric
from .compare import MismatchError, shown
from .rubric import ROOT, SOURCE, TESTS
from .shared.source_rules import nodes_of
from .shared.trial import said
from .student import module_of
from .terminal import Language, say

MOST_STEPS = 4  # of the calls that led to an error, in code that calls itself
LONGEST_MESSAGE = 600  # characters
PYTHONS_OWN = (NameError, AttributeError, ImportError, TypeError, SyntaxError, KeyError, ZeroDivisionError)
TOLD = {  # from a kind of failure to what the errors of torch and Python say about it
    "none": ("NoneType",),
    "devices": ("on the same device", "device type for generator", "indices should be either on"),
    "in_place": ("single memory location", "in-place operation", "inplace operation"),
    "ambiguous": ("is ambiguous",),  # a tensor in an if
}
ABOUT_GRADIENTS = "does not require grad"  # likewise, of an output that depends on no parameter or input
CALLED_OTHERWISE = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|missing \d|takes )")
NEEDED = ("__init__", "forward")  # methods that torch has for a class that lacks them
LIKE = 0.5  # how alike two names are, at least, if one may be meant by the other
SHOWN_VALUES = 6


class Calls:
    """Notes what tests build and call of the names that the rubric asks for.

    Attributes:
        last: The last call as a text, like ``Norm(size=4)(float32 [2, 4]: 1, 1, 2, 2, …)``; empty if there was none.
    """

    def __init__(self) -> None:
        """Begin to note."""
        self._built: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
        self.forget()
        for task in rubric.load().tasks:
            for name, file in task.names.items():
                try:
                    home = importlib.import_module(module_of(file))
                except (Exception, SystemExit):
                    continue  # the tests of this file say so
                piece = getattr(home, name, None)
                if isinstance(piece, type) and issubclass(piece, nn.Module) and "__init__" in vars(piece):
                    piece.__init__ = self._noting(piece.__init__, self._built_text)
                    if "reset_parameters" in vars(piece):
                        piece.reset_parameters = self._noting(piece.reset_parameters, self._reset_text)
                elif inspect.isfunction(piece):
                    setattr(home, name, self._noting(piece, partial(_call_text, name)))
        nn.modules.module.register_module_forward_pre_hook(self._note_forward)
        nn.modules.module.register_module_forward_hook(self._note_result)

    def forget(self) -> None:
        """Forget the calls of the test before."""
        self._note("", None)
        self._returned: list[object] = []  # of one element: what the last call returned, if it has ended

    def returned(self) -> str:
        """What the last call returned: the dtype and shape of a tensor, else the type."""
        return "".join(shown(result) or type(result).__name__ for result in self._returned).removeprefix("= ") or "…"

    def debug_last(self) -> None:
        """Make the last call again in Python's debugger, which stops at the first line of the student's code.

        Raises:
            bdb.BdbQuit: If the debugger is left before the call ends.
        """
        if call := self._again:
            print(f"\n{self.last}")
            pdb.Pdb().runcall(call.func, *call.args, **call.keywords)

    def _note(self, text: str, again: partial | None) -> None:
        self.last, self._again = text, again

    def _noting(self, function: Callable[..., Any], text_of: Callable[[tuple, dict], str]) -> Callable[..., Any]:
        """A function that is the last call from then on, as the text of its arguments says; not if there is none."""

        @wraps(function)
        def noting(*arguments, **named):
            __tracebackhide__ = True
            if text := text_of(arguments, named):
                self._note(text, partial(function, *arguments, **named))
            result = function(*arguments, **named)
            if not (arguments and isinstance(arguments[0], nn.Module)):  # these methods give nothing
                self._returned = [result]
            return result

        return noting

    def _built_text(self, arguments: tuple, named: dict[str, object]) -> str:
        """Of a constructor: what it builds; nothing for one of a base class, which it calls."""
        module, *others = arguments
        if module in self._built:
            return ""
        self._built[module] = _call_text(type(module).__name__, others, named)
        return self._built[module]

    def _reset_text(self, arguments: tuple, _: dict[str, object]) -> str:
        """Of a reset: nothing if the constructor calls it."""
        known = arguments[0] in self._built and _is_in(sys._getframe(2).f_code.co_filename, TESTS)
        return f"{self._built[arguments[0]]}.reset_parameters()" if known else ""

    def _note_forward(self, module: nn.Module, arguments: tuple) -> None:
        if module in self._built:
            self._note(_call_text(self._built[module], arguments, {}), partial(module.forward, *arguments))

    def _note_result(self, module: nn.Module, _: tuple, result: object) -> None:
        if module in self._built:
            self._returned = [result]


def _call_text(name: str, arguments: Sequence[object], named: dict[str, object]) -> str:
    parts = [_argument_text(value) for value in arguments]
    parts += [f"{key}={text}" for key, value in named.items() if (text := _argument_text(value)) != "cpu"]
    return f"{name}({', '.join(parts)})"


def _argument_text(value: object) -> str:
    if not isinstance(value, Tensor):
        return str(value).removeprefix("torch.")
    row = value.detach()[(0,) * (value.dim() - 1)] if value.numel() and value.dim() else value.detach().reshape(-1)
    numbers = row[:SHOWN_VALUES].cpu().tolist()
    shown = [str(number) if isinstance(number, int) else f"{number:.4g}" for number in numbers]
    more = ["…"] * (value.numel() > len(shown))
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}: {', '.join([*shown, *more])}"


# ── What an exception tells ──


def kind_of(error: BaseException) -> str:
    """What kind of failure an error is: the kind of a mismatch, or who raised it and why.

    ``endless``: a timeout. ``names``: a class, method or argument has another name than in the stub. ``python``: Python
    refuses a line of the student's; ``none``: that line uses None; ``refused``: the student's own check does;
    ``devices``, ``in_place``, ``ambiguous`` and ``error``: torch does. ``unusable``: a line of the test's own fails;
    ``no_gradient``, if it asks for gradients of what does not depend on the inputs.
    """
    if isinstance(error, MismatchError):
        return error.kind
    if isinstance(error, TimeoutError):
        return "endless"
    if place_of(error):
        if (steps := _steps(error)) and _line_of(steps[-1]).startswith(("raise ", "assert ")):
            return "refused"
        if told := next((kind for kind, said in TOLD.items() if any(one in str(error) for one in said)), ""):
            return "devices_plain" if told == "devices" and plain_tables(error) else told
        return "python" if isinstance(error, PYTHONS_OWN) and not _raised_by_torch(error) else "error"
    if isinstance(error, RuntimeError) and ABOUT_GRADIENTS in str(error):
        return "no_gradient"
    return "names" if _is_about_names(error) else "unusable"


def describe(error: BaseException, language: Language) -> str:
    """The name and message of an exception, with what may have been meant where a name is unknown."""
    message = f"{error.msg}: {(error.text or '').strip()}" if isinstance(error, SyntaxError) else said(error)
    known, asked = _alike(error)
    key = ("yours" if asked else "meant") if known else "no_method" if asked else "nothing"
    return f"{type(error).__name__}: {message}"[:LONGEST_MESSAGE] + say(language, key, own=known, asked=asked)


def place_of(error: BaseException) -> str:
    """The line of the student's code that raised an error, or of any file here that cannot be parsed; empty if none.

    Written as ``src/modeling/norm.py:57``, which editors and terminals can open.
    """
    spots = [(step.tb_frame.f_code.co_filename, step.tb_lineno) for step in _steps(error)]
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(ROOT):
        spots.append((error.filename, error.lineno or 1))
    return _written(*spots[-1]) if spots else ""


def way_to(error: BaseException) -> str:
    """The lines of the student's code that called each other and led to an error, and the last one as it is written.

    As in ``src/norm.py:88 -> src/functional.py:31``, a ``raise`` below its ``if``; if only a test fails, its line.
    """
    steps = _steps(error)
    if not steps and kind_of(error) == "unusable":
        steps = _steps(error, TESTS)[-1:]
    if not steps:
        return place_of(error)
    way = list(dict.fromkeys(_written(step.tb_frame.f_code.co_filename, step.tb_lineno) for step in steps))
    above = [f"  if {ast.unparse(one.test)}:\n  " for one in _ifs_above(steps[-1])]
    return f"{' -> '.join(way[-MOST_STEPS:])}\n{''.join(above)}  {_line_of(steps[-1])}"


def values_at(error: BaseException) -> str:
    """What the names in the failing expression stand for, as in ``input float32 [1, 7, 1, 8], cos float32 [8, 8]``."""
    if not (steps := _steps(error)):
        return ""
    frame = steps[-1].tb_frame
    found = {ast.unparse(node): _value(frame, node) for node in _names_in(steps[-1])}
    builtins = "builtin_function" in str(error)  # a name of Python's own where one of the student's is meant
    told = {name: f"= {one}" if builtins and inspect.isbuiltin(one) else shown(one) for name, one in found.items()}
    return ", ".join(f"{name} {text}" for name, text in told.items() if text)


def plain_tables(error: BaseException) -> list[str]:
    """Tensors that modules on the way to an error keep as plain attributes, which ``to`` does not move."""
    modules = (step.tb_frame.f_locals.get("self") for step in _steps(error))
    kept = (vars(module).items() for module in modules if isinstance(module, nn.Module))
    return [f"self.{name}" for items in kept for name, value in items if isinstance(value, Tensor)]


def near(name: str, names: Iterable[str]) -> str:
    """The name that may be meant by another one; empty if none is like it."""
    return next(iter(difflib.get_close_matches(name, [*names], n=1, cutoff=LIKE)), "")


# ── Where ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _steps(error: BaseException, folder: Path = SOURCE) -> list[TracebackType]:
    """The steps of a traceback that are in the student's code, or in another folder."""
    steps, step = [], error.__traceback__
    while step is not None:
        steps += [step] if _is_in(step.tb_frame.f_code.co_filename, folder) else []
        step = step.tb_next
    return steps


@cache  # a traceback through pytest has a hundred steps, and each is asked about many times
def _is_in(file: str, folder: Path) -> bool:
    """Whether a file is in a folder; of the tests' own folder only the test files count."""
    path = Path(file)
    return path.parent == folder and path.name.startswith("test_") if folder == TESTS else path.is_relative_to(folder)


def _line_of(step: TracebackType) -> str:
    return linecache.getline(step.tb_frame.f_code.co_filename, step.tb_lineno).strip()


def _written(file: str, line: int) -> str:
    return f"{Path(file).relative_to(ROOT).as_posix()}:{line}"


def _last_frame(error: BaseException) -> FrameType | None:
    return [None, *(frame for frame, _ in traceback.walk_tb(error.__traceback__))][-1]


def _raised_by_torch(error: BaseException) -> bool:
    """Whether a Python function of torch raised an error; an unknown attribute of a module is Python's all the same."""
    frame = _last_frame(error)
    return frame is not None and not _is_in(frame.f_code.co_filename, SOURCE) and not isinstance(error, AttributeError)


# ── What met there ──────────────────────────────────────────────────────────────────────────────────────────────────


def _names_in(step: TracebackType) -> list[ast.Name | ast.Attribute]:
    """The names in the expression that failed, from an ``if`` above it on, else in its lines, in the order written."""
    first, last, start, end = next(islice(step.tb_frame.f_code.co_positions(), step.tb_lasti // 2, None))
    for above in _ifs_above(step):
        first, start = above.lineno, above.col_offset
    named = (node for node in _nodes(step) if isinstance(node, ast.Name | ast.Attribute))
    read = [
        node for node in named if isinstance(node.ctx, ast.Load) and first <= node.lineno <= node.end_lineno <= last
    ]
    inside = [
        node
        for node in read
        if (first, start) <= (node.lineno, node.col_offset) and (node.end_lineno, node.end_col_offset) <= (last, end)
    ]
    return sorted(inside or read, key=lambda node: (node.lineno, node.col_offset))


def _ifs_above(step: TracebackType) -> list[ast.If]:
    """The ``if`` whose branch is the ``raise`` of a step; nothing for another line, or one below ``else``."""
    ifs = (node for node in _nodes(step) if isinstance(node, ast.If))
    return [one for one in ifs if isinstance(one.body[-1], ast.Raise) and one.body[-1].lineno == step.tb_lineno]


def _nodes(step: TracebackType) -> list[ast.AST]:
    """The syntax tree of a step's file; nothing if the file was saved since and cannot be parsed."""
    return nodes_of("".join(linecache.getlines(step.tb_frame.f_code.co_filename)))


def _value(frame: FrameType, node: ast.expr) -> object:
    """What a name such as ``x`` or ``self.gamma`` stands for, looked up without running any code of the student's."""
    if isinstance(node, ast.Name):
        scopes = (frame.f_locals, frame.f_globals, frame.f_builtins)
        return next((names[node.id] for names in scopes if node.id in names), Ellipsis)
    if not isinstance(node, ast.Attribute) or not isinstance(owner := _value(frame, node.value), nn.Module):
        return Ellipsis
    held = {**vars(owner), **owner._parameters, **owner._buffers}
    return held.get(node.attr, Ellipsis)


# ── What may be meant ───────────────────────────────────────────────────────────────────────────────────────────────


def _is_about_names(error: BaseException) -> bool:
    """Whether a test could not call the student's code, since a class, method or argument has another name."""
    if isinstance(error, TypeError):
        return CALLED_OTHERWISE.search(str(error)) is not None
    frame = _last_frame(error)
    from_torch = frame is not None and frame.f_globals.get("__name__") == nn.Module.__module__
    if isinstance(error, AttributeError):
        return from_torch or inspect.ismodule(error.obj)
    return isinstance(error, NotImplementedError) and from_torch  # a module without forward


def _alike(error: BaseException) -> tuple[str, str]:
    """A name that exists and is like the unknown one; and the unknown one, if it is the name in the stub.

    Empty texts where no name is unknown, or none is like it; of a method that a class lacks, only the first is empty.
    """
    text, asked, names = str(error), "", ()
    if isinstance(error, TypeError) and (called := CALLED_OTHERWISE.search(text)):
        piece = _piece(called[1] or called[2])
        function = getattr(piece, called[2], None) if called[1] else piece
        asked, names = called[3] or "", inspect.signature(function).parameters if function else ()
        if isinstance(piece, type) and piece.__init__ in (nn.Module.__init__, object.__init__):
            asked, names = "__init__", _methods(piece)
    elif isinstance(error, ImportError) and (wanted := re.search(r"cannot import name '(\w+)' from 'src\b", text)):
        asked, names = wanted[1], vars(sys.modules[error.name])
    elif isinstance(error, NotImplementedError) and (missing := re.search(r"Module \[(\w+)\] is missing", text)):
        asked, names = "forward", _methods(_piece(missing[1]))
    elif isinstance(error, AttributeError):
        asked, names = error.name or "", [name for name in dir(error.obj) if not name.startswith("_")]
    elif isinstance(error, NameError) and (steps := _steps(error)):
        frame = steps[-1].tb_frame
        asked, names = error.name or "", [*frame.f_locals, *frame.f_globals]
    found = near(asked, names)
    in_the_stub = isinstance(error, ImportError) or not place_of(error)
    return found, asked if in_the_stub and (found or asked in NEEDED) else ""


def _methods(piece: type) -> list[str]:
    return [name for name, value in vars(piece).items() if inspect.isfunction(value)]


def _piece(name: str) -> Any:
    """A class or function of the student's, by its name; None if there is none."""
    modules = (vars(module) for path, module in [*sys.modules.items()] if path.partition(".")[0] == SOURCE.name)
    return next((names[name] for names in modules if name in names), None)
