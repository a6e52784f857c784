"""Runs in a worker beside a submission, as the module ``src._exam``: makes calls and records the values of lines."""

from __future__ import annotations

import ast
import contextlib
import importlib
import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import torch

HOLDS = re.compile(r"\s*(?:(\w+)(?:\.(\w+))?(?:: [^=]+)? [-+*/]?= |return )")  # a name, an attribute, or a result
MOST_STEPS = 400  # lines of the submission that are followed for a call; of a longer one, no line is asked about
MOST_NUMBERS = 64  # of a tensor whose numbers are recorded


def run(homes: Mapping[str, str], codes: list[str], is_traced: bool, is_first: bool) -> dict[str, Any]:
    """The outcome of each call, in a dictionary, since of a list a worker sends the first item only.

    ``homes`` says which module defines a name. In a worker that ``is_first``, memory that nobody has written to holds
    nan, in the other one 7, so that what reads it always differs.
    """
    outcomes = []
    torch.set_deterministic_debug_mode("warn" if is_first else "default")
    for owner, name in () if is_first else ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
        make = getattr(owner, name)
        setattr(owner, name, torch.no_grad()(lambda *a, make=make, **k: make(*a, **k).fill_(7)))
    for code in codes:
        for module in [name for name in sys.modules if name.partition(".")[0] == "src" and name != __name__]:
            del sys.modules[module]  # so that caches hold nothing of earlier calls
        names = {"torch": torch, **{name: getattr(importlib.import_module(home), name) for name, home in homes.items()}}
        *lines, last = ast.parse(code).body
        torch.default_generator.manual_seed(0)
        trace = Trace({"forward", "__init__", *homes})
        try:
            sys.settrace(trace.entered if is_traced else None)
            exec(compile(ast.Module(lines, []), "<call>", "exec"), names)
            value = eval(ast.unparse(last), names)
            text, told = _described(value)[1] or repr(value), [*trace.told(value)]
        except Exception as error:  # then the line that raised it holds what it held before
            text, told = f"raises {type(error).__name__}", []
        finally:
            sys.settrace(None)
        outcomes.append({"value": text, "steps": trace.steps, "told": told})
    return {"outcomes": outcomes}


class Trace:
    """Follows the submission line by line."""

    def __init__(self, asked: set[str]) -> None:
        """Remember the functions whose arguments and results the handout tells."""
        self.steps, self._at = list[tuple[str, int]](), dict[FrameType, int]()
        self._held, self._known, self._asked = dict[tuple[str, int], list[tuple[str, str]]](), {""}, asked

    def entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A frame begins, a line begins, or a frame returns: then the line before it has done its work."""
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if not path.startswith("src/") or path == run.__code__.co_filename or name[0] == "<":
            return None
        if name in self._asked and event in ("call", "return"):
            self._know(*frame.f_locals.values() if event == "call" else [argument])
        line = self._at.pop(frame, None) if event in ("line", "return") else None
        if line and (target := HOLDS.match(linecache.getline(path, line))):
            value = frame.f_locals.get(target[1]) if target[1] else argument if event == "return" else None
            value = getattr(value, target[2], None) if target[2] else value
            self._held.setdefault((path, line), []).append(_described(value))
        if event == "line":
            self._at[frame] = frame.f_lineno
            self.steps.extend([(path, frame.f_lineno)] * (len(self.steps) < MOST_STEPS))
        return self.entered

    def _know(self, *values: Any) -> None:
        self._known |= {_bare(text) for value in values for text in _described(value)}

    def told(self, result: Any) -> Iterator[tuple[str, str, int, str]]:
        """Answers about a line: its value and shape, if it has only one, and its values each time."""
        self._know(result)
        for place, runs in self._held.items() if len(self.steps) < MOST_STEPS else ():
            shapes, values = zip(*runs, strict=True)
            for kind, turns in (("predict", {*values}), ("shape", {*shapes}), ("growth", [a or b for a, b in runs])):
                if (len(turns) == 1 or kind == "growth") and all(turns) and not {*map(_bare, turns)} <= self._known:
                    yield kind, *place, "; ".join(turns)


def _described(value: Any) -> tuple[str, str]:
    """Dtype and shape of a tensor or several, and dtype and numbers; empty for most else."""
    if type(value) is tuple and value and all(isinstance(one, torch.Tensor) for one in value):
        pairs = zip(*map(_described, value), strict=True)
        shapes, numbers = (str(one).replace("'", "") * all(one) for one in pairs)
        return shapes, numbers
    if not isinstance(value, torch.Tensor):
        return "", repr(value) if type(value) in (bool, int, float, torch.dtype, torch.Size) else ""
    dtype, numbers = str(value.dtype)[6:], ""
    with contextlib.suppress(RuntimeError):  # inside torch.vmap, there are no numbers
        numbers = f"{dtype} {value.detach().to_dense().tolist()}" if value.numel() <= MOST_NUMBERS else ""
    return f"{dtype} {list(value.shape)}", numbers


def _bare(text: str) -> str:
    """The numbers of a text, after 0 for a tensor or its size, so that neither a cast nor a view makes a difference."""
    numbers = re.findall(r"-?\d[\d.e+-]*", re.sub(r"^(?:\w+ |torch\.Size)", "0 ", text))
    return " ".join(number.removesuffix(".0") for number in numbers)
