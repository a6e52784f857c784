"""What a worker runs beside a submission: calls, and what each line of the submission holds meanwhile.

This file is sent to the worker as text, and runs there as ``src._exam``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch

MOST_STEPS = 400  # lines of the submission that are recorded for a call
MOST_TEXT = 200


def run(homes: Mapping[str, str], codes: Sequence[str], wanted: Mapping[str, Any] | None) -> dict[str, Any]:
    """The outcome of each call, in a dictionary, since of a list a worker sends the first item only.

    Args:
        homes: From names of the assignment to the modules that define them.
        codes: The calls.
        wanted: By file and line, the name that the line assigns, or ``return``; None to record no lines.
    """
    torch.set_deterministic_debug_mode("warn")  # so that memory nobody has written to holds nan
    names = {name: getattr(sys.modules[module], name) for name, module in homes.items()}
    return {"outcomes": [_outcome(code, {**names, "torch": torch}, wanted) for code in codes]}


def _outcome(code: str, names: dict[str, Any], wanted: Mapping[str, Any] | None) -> dict[str, Any]:
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr), "the last line of a call is an expression"
    body = compile(ast.Module(lines, []), "<call>", "exec")
    value = compile(ast.Expression(last.value), "<call>", "eval")
    torch.manual_seed(0)
    watch = Watch(wanted or {})
    try:
        if wanted is not None:
            sys.settrace(watch.entered)
        exec(body, names)
        outcome = {"value": plain(eval(value, names))}
    except Exception as error:
        outcome = {"error": type(error).__name__[:MOST_TEXT]}
    finally:
        sys.settrace(None)
    return {**outcome, "steps": watch.steps, "held": watch.held}


def plain(value: Any) -> Any:
    """The value as the protocol can carry it: a tensor, or a text."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else repr(value)[:MOST_TEXT]


class Watch:
    """Follows the submission line by line."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        """Record nothing yet."""
        self.steps: list[list[Any]] = []
        self.held: dict[str, str] = {}
        self._wanted = wanted
        self._at: dict[FrameType, int] = {}

    def entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Python's trace function: a frame begins, a line begins, or a frame returns."""
        path = frame.f_code.co_filename
        if path not in self._wanted:
            return None
        if event in ("line", "return"):
            self._settle(frame, argument if event == "return" else None)
        if event == "line":
            self._at[frame] = frame.f_lineno
            if len(self.steps) < MOST_STEPS:
                self.steps.append([path, frame.f_lineno])
        return self.entered

    def _settle(self, frame: FrameType, returned: Any) -> None:
        """Describe what the line has left behind on which the frame was."""
        line, path = self._at.pop(frame, None), frame.f_code.co_filename
        name = self._wanted[path].get(str(line))
        if name is not None:
            text = described(returned if name == "return" else frame.f_locals.get(name))
            before = self.held.setdefault(f"{path}:{line}", text)
            if before != text:
                self.held[f"{path}:{line}"] = ""  # not one thing at this call


def described(value: Any) -> str:
    """Shape and dtype of a tensor, or a small number; empty for all else."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return repr(value) if type(value) in (int, bool) else ""
