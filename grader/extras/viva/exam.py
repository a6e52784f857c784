"""What a worker runs beside a submission, as the module ``src._exam``: calls, and what lines hold meanwhile."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch

HOLDS = re.compile(r"\s*(?:(\w+)(?:: [^=]+)? = |(return) )")  # a line whose assigned or returned value is recorded
MOST_STEPS = 400  # lines of the submission that are recorded for a call


def run(homes: Mapping[str, str], codes: Sequence[str], watched: bool) -> dict[str, Any]:
    """The outcome of each call, in a dictionary, since of a list a worker sends the first item only.

    Args:
        homes: From names of the assignment to the modules that define them.
        codes: The calls.
        watched: Whether to record what lines hold, and let memory that nobody has written to hold nan, rather than
            what happens to be there.
    """
    torch.set_deterministic_debug_mode("warn" if watched else "default")
    names = {name: getattr(sys.modules[module], name) for name, module in homes.items()}
    return {"outcomes": [_outcome(code, {**names, "torch": torch}, watched) for code in codes]}


def _outcome(code: str, names: dict[str, Any], watched: bool) -> dict[str, Any]:
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr), "the last line of a call is an expression"
    torch.manual_seed(0)
    steps, held = list[tuple[str, int]](), dict[tuple[str, int], str]()
    try:
        sys.settrace(_watch(steps, held) if watched else None)
        exec(compile(ast.Module(lines, []), "<call>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<call>", "eval"), names)
        sys.settrace(None)
        is_tensor = isinstance(value, torch.Tensor)
        text = f"{str(value.dtype)[6:]} {value.detach().to_dense().tolist()}" if is_tensor else repr(value)
    except Exception as error:
        text = f"raises {type(error).__name__}"
    finally:
        sys.settrace(None)
    return {"value": text, "steps": steps, "held": [[*place, one] for place, one in held.items() if one]}


def _watch(steps: list[tuple[str, int]], held: dict[tuple[str, int], str]) -> Any:
    """A trace function that follows the submission line by line."""
    at = dict[FrameType, int]()

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        """A frame begins, a line begins, or a frame returns: then the line before it has done its work."""
        path = frame.f_code.co_filename
        if not path.startswith("src/") or path == run.__code__.co_filename:
            return None
        line = at.pop(frame, None) if event in ("line", "return") else None
        if line and (names := HOLDS.match(linecache.getline(path, line))):
            text = _described(argument if names[2] and event == "return" else frame.f_locals.get(names[1]))
            if held.setdefault((path, line), text) != text:
                held[path, line] = ""  # not one thing at this call
        if event == "line":
            at[frame] = frame.f_lineno
            steps.extend([(path, frame.f_lineno)] * (len(steps) < MOST_STEPS))
        return entered

    return entered


def _described(value: Any) -> str:
    """Dtype and shape of a tensor; empty for all else."""
    return f"{str(value.dtype)[6:]} {list(value.shape)}" if isinstance(value, torch.Tensor) else ""
