"""A case as lines of Python for an assistant: the calls in order, with their replies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from grader.core.sandbox.second_device.names import is_here

from .bench import Exchange

MOST = 12  # requests that are shown
SHOWN = 8  # elements of a tensor that are shown
VERBATIM = ("number", "target", "name", "shape", "module")  # fields that are shown as they are
SILENT = ("construct", "method", "assign", "assign_named")  # operations without an output
LINES: Mapping[str, str] = {  # a line for each operation, with the fields of its request
    "construct": "{number} = {name}({listed})",
    "call": "{target}({listed})",
    "observe": "observed({target}, {listed})",
    "backward": "gradients({target}, {arguments}, {upstream})",
    "method": "{target}.{name}({listed})",
    "assign_named": "set_named({target}, {values})",
    "assign": "set_learnt({target}, {values})",
    "buffer_devices": "buffer_devices({target}.to({device}), torch.ones({shape}, device={device}))",
    "parameters": "dict({target}.named_parameters())",
    "held": "dict({target}.named_parameters())",
    "buffers": "dict({target}.named_buffers())",
    "state_dict": "list({target}.state_dict())",
}


def transcript(exchanges: Sequence[Exchange]) -> list[str]:
    """The calls, tensors in a few words, each with what came back; the last ones of many.

    A request that needs another text of a file has no line of its own.
    """
    lines = [f"… {len(exchanges) - MOST} earlier requests"] * (len(exchanges) > MOST)
    imports: set[str] = set()
    modules: dict[int, str] = {}  # by the numbers that the requests give them
    outputs = itertools.count(1)
    for one in exchanges[-MOST:]:
        for operation, own in one.operations if one.own else ():
            if operation == "load":
                line = f"from {own['module']} import {own['name']}"
                lines += [line] * (line not in imports)
                imports.add(line)
                continue
            known = {key: own[key] for key in ("number", "target") if isinstance(own.get(key), int)}
            named = {key: modules.setdefault(place, f"module_{len(modules) + 1}") for key, place in known.items()}
            line = _line(operation, {**own, **named})
            lines.append(line if operation in SILENT else f"output_{next(outputs)} = {line}")
        if one.reply is None:
            lines.append("→ no answer")
        elif "value" in one.reply and one.operations[-1][0] != "load":
            lines.append(f"→ {brief(one.reply['value'])}")
    return lines


def _line(operation: str, own: Mapping[str, Any]) -> str:
    """One operation as an expression, or a statement if it is silent."""
    arguments = own.get("arguments", ())
    named = arguments if isinstance(arguments, Mapping) else {}
    listed = [f"{key}={brief(value)}" for key, value in named.items()] if named else map(brief, arguments)
    told = {key: value if key in VERBATIM else brief(value) for key, value in own.items()}
    return LINES[operation].format(**told, listed=", ".join(listed))


def brief(value: Any) -> str:
    """A value as an expression; a tensor by its dtype, its shape and its first elements.

    A second device is called ``cuda``, as the simulated one is known nowhere else.
    """
    match value:
        case Tensor():
            kind = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
            first = value.detach().cpu().flatten()[:SHOWN].tolist()
            numbers = [f"{own:.4g}" if isinstance(own, float) else repr(own) for own in first]
            return f"<{kind}: {', '.join(numbers)}{', …' * (value.numel() > SHOWN)}>"
        case str() if is_here(value):
            return repr("cuda")
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case list() | tuple():
            return f"[{', '.join(map(brief, value))}]"
        case dict():
            return f"{{{', '.join(f'{key!r}: {brief(item)}' for key, item in value.items())}}}"
    return repr(value)
