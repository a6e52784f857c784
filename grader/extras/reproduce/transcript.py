"""A case as lines of Python for an assistant: the calls in order, with their replies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from grader.core.sandbox.second_device import is_here

from .tape import Exchange

MOST = 12  # requests that are shown
SHOWN = 8  # elements of a tensor that are shown

Arguments = Mapping[str, Any]


def transcript(exchanges: Sequence[Exchange]) -> list[str]:
    """The calls, tensors in a few words, each with what came back; the last ones of many."""
    calls, lines = _Calls(), [f"… {len(exchanges) - MOST} earlier requests"] * (len(exchanges) > MOST)
    for one in exchanges[-MOST:]:
        lines += calls.of(one)
        if one.reply is None:
            lines.append("→ no answer")
        elif "value" in one.reply and one.operations[-1][0] != "load":
            lines.append(f"→ {brief(one.reply['value'])}")
    return lines


def brief(value: Any) -> str:
    """A value as an expression; a tensor by its dtype, its shape and its first elements.

    A second device is called ``cuda``, as the simulated one is known nowhere else.
    """
    match value:
        case Tensor():
            kind = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
            first = value.detach().cpu().flatten()[:SHOWN].tolist()
            more = ", …" * (value.numel() > SHOWN)
            return f"<{kind}: {', '.join(map(_number, first))}{more}>"
        case str() if is_here(value):
            return repr("cuda")
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case list() | tuple():
            return f"[{_listed(value)}]"
        case dict():
            return f"{{{', '.join(f'{key!r}: {brief(item)}' for key, item in value.items())}}}"
    return repr(value)


def _number(element: complex | float | int | bool) -> str:
    return f"{element:.4g}" if isinstance(element, float) else repr(element)


class _Calls:
    """Writes requests as lines of Python, one after the other."""

    def __init__(self) -> None:
        self._imported: set[str] = set()
        self._modules: dict[object, str] = {}  # by the numbers that the requests give them
        self._outputs = 0

    def of(self, exchange: Exchange) -> Iterator[str]:
        """The lines of one request; none where it needs another text of a file."""
        for operation, arguments in exchange.operations if exchange.own else ():
            if operation == "load":
                line = f"from {arguments['module']} import {arguments['name']}"
                if line not in self._imported:
                    self._imported.add(line)
                    yield line
                continue
            expression = _LINES[operation](self._renamed(arguments))
            if operation in _SILENT:
                yield expression
                continue
            self._outputs += 1
            yield f"output_{self._outputs} = {expression}"

    def _renamed(self, arguments: Arguments) -> Arguments:
        """The arguments with the name of a module in place of its number."""
        number = arguments.get("number", arguments.get("target"))
        if not isinstance(number, int):
            return arguments
        name = self._modules.setdefault(number, f"module_{len(self._modules) + 1}")
        return {**arguments, "number" if "number" in arguments else "target": name}


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(brief, values))


def _construct(own: Arguments) -> str:
    arguments = ", ".join(f"{key}={brief(value)}" for key, value in own["arguments"].items())
    return f"{own['number']} = {own['name']}({arguments})"


def _call(own: Arguments) -> str:
    return f"{own['target']}({_listed(own['arguments'])})"


def _observe(own: Arguments) -> str:
    return f"observed({own['target']}, {_listed(own['arguments'])})"


def _backward(own: Arguments) -> str:
    return f"gradients({own['target']}, [{_listed(own['arguments'])}], {brief(own['upstream'])})"


def _method(own: Arguments) -> str:
    return f"{own['target']}.{own['name']}({_listed(own['arguments'])})"


def _assign_named(own: Arguments) -> str:
    return f"set_named({own['target']}, {brief(own['values'])})"


def _assign(own: Arguments) -> str:
    return f"set_learnt({own['target']}, [{_listed(own['values'])}])"


def _buffer_devices(own: Arguments) -> str:
    device = brief(own["device"])
    return f"buffer_devices({own['target']}.to({device}), torch.ones({own['shape']}, device={device}))"


_SILENT = ("construct", "method", "assign", "assign_named")
_LINES: Mapping[str, Callable[[Arguments], str]] = {
    "construct": _construct,
    "call": _call,
    "observe": _observe,
    "backward": _backward,
    "method": _method,
    "assign_named": _assign_named,
    "assign": _assign,
    "buffer_devices": _buffer_devices,
    "parameters": lambda own: f"dict({own['target']}.named_parameters())",
    "held": lambda own: f"dict({own['target']}.named_parameters())",
    "buffers": lambda own: f"dict({own['target']}.named_buffers())",
    "state_dict": lambda own: f"list({own['target']}.state_dict())",
}
