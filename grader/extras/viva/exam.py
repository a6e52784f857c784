"""What a worker runs beside a submission, as the module ``src._exam``: calls, and what lines hold meanwhile."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch

MOST_STEPS = 400  # lines of the submission that are recorded for a call
MOST_TEXT = 200


def run(homes: Mapping[str, str], codes: Sequence[str], wanted: Mapping[str, Any], fill: bool) -> dict[str, Any]:
    """The outcome of each call, in a dictionary, since of a list a worker sends the first item only.

    Args:
        homes: From names of the assignment to the modules that define them.
        codes: The calls.
        wanted: By file and line, the name that the line assigns, or ``return``; empty to record no lines.
        fill: Whether memory that nobody has written to holds nan, rather than what happens to be there.
    """
    torch.set_deterministic_debug_mode("warn" if fill else "default")
    names = {name: getattr(sys.modules[module], name) for name, module in homes.items()}
    return {"outcomes": [_outcome(code, {**names, "torch": torch}, Watch(wanted)) for code in codes]}


def _outcome(code: str, names: dict[str, Any], watch: Watch) -> dict[str, Any]:
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr), "the last line of a call is an expression"
    torch.manual_seed(0)
    try:
        sys.settrace(watch.entered if watch.wanted else None)
        exec(compile(ast.Module(lines, []), "<call>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<call>", "eval"), names)
        is_tensor = isinstance(value, torch.Tensor)
        found = {"value": value.detach().to_dense().clone() if is_tensor else repr(value)[:MOST_TEXT]}
    except Exception as error:
        found = {"error": type(error).__name__[:MOST_TEXT]}
    finally:
        sys.settrace(None)
    return {**found, "steps": watch.steps, "held": [[*place, text] for place, text in watch.held.items()]}


class Watch:
    """Follows the submission line by line, as Python's trace function."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        """Record nothing yet."""
        self.steps: list[tuple[str, int]] = []
        self.held: dict[tuple[str, int], str] = {}
        self.wanted = wanted
        self._at: dict[FrameType, int] = {}

    def entered(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A frame begins, a line begins, or a frame returns: then the line before it has done its work."""
        path = frame.f_code.co_filename
        if path not in self.wanted:
            return None
        line = self._at.pop(frame, None) if event in ("line", "return") else None
        if line and (name := self.wanted[path].get(str(line))):
            text = _described(frame.f_locals.get(name) if name != "return" else argument if event == "return" else None)
            if self.held.setdefault((path, line), text) != text:
                self.held[path, line] = ""  # not one thing at this call
        if event == "line":
            self._at[frame] = frame.f_lineno
            self.steps += [(path, frame.f_lineno)] * (len(self.steps) < MOST_STEPS)
        return self.entered


def _described(value: Any) -> str:
    """Shape and dtype of a tensor; empty for all else."""
    return f"{str(value.dtype)[6:]} {list(value.shape)}" if isinstance(value, torch.Tensor) else ""
