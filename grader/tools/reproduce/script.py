"""A case as a script: the calls in order, their inputs, and no value that a hidden test expects.

A script is made of requests and of the submission's own replies alone, and neither holds an expected value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from ...definition import Assignment
from ...results.report import CaseReport
from .literal import brief, source, tensor_source
from .script_words import HELPERS, WORDS
from .tape import Exchange

MOST = 12  # requests that an assistant is shown
Name = Callable[[Tensor], str]  # an expression for a tensor


def script(
    exchanges: Sequence[Exchange], assignment: Assignment, property_id: str, case: CaseReport, file: str, language: str
) -> str:
    """The script that a student can run beside ``src/``.

    Args:
        exchanges: Of the case.
        assignment: Its rubric and laws word what is tested.
        property_id: The property.
        case: As the report has it, in that language.
        file: The name of the script, for the line that says how to run it.
        language: ``en`` or ``zh``.
    """
    prop, say = assignment.rubric.properties[property_id], WORDS[language]
    law = assignment.laws.get(property_id)
    body = [*_body(exchanges, language)]
    text = "\n".join(body)
    helpers = [code for name, code in HELPERS.items() if f"{name}(" in text]
    head = [
        f"{prop.title[language]}",
        "",
        *([f"{say['law']}{law.words[language]}", ""] if law else []),
        f"{say['report']}{case.message}",
        "",
        say["run"].format(file=file),
        say["read"].format(place=assignment.rubric.handout_place(property_id, language)),
    ]
    quoted = "\n".join(head).replace("\\", "\\\\").replace('"""', "'''")
    parts = [f'"""{quoted}\n"""', "import base64\nimport zlib\n" * ("unpacked(" in text) + "\nimport torch", *helpers]
    return "\n\n".join(parts).replace("\n\n\nimport torch", "\n\nimport torch") + f"\n\n{text}\n"


def _body(exchanges: Sequence[Exchange], language: str) -> Iterator[str]:
    """All calls, each with what came back when it was graded."""
    written: dict[bytes, str] = {}
    inputs: list[str] = []

    def name(tensor: Tensor) -> str:
        text = tensor_source(tensor)
        key = text.encode()
        if key not in written:
            written[key] = f"input_{len(written) + 1}"
            inputs.append(f"{written[key]} = {text}")
        copied = f"{written[key]}.clone()"
        return f'{copied}.to("cuda")' if tensor.device.type != "cpu" else copied

    calls = Calls(name, show=True)
    for one in exchanges:
        for line in calls.of(one):
            yield from inputs
            inputs.clear()
            yield line
        if one.own and one.reply is not None and "value" in one.reply and _gives(one):
            yield f"# {WORDS[language]['came_back']}{_told(one.reply['value'])}"
    if any(not one.own for one in exchanges):
        yield f"# {WORDS[language]['left_out']}"


def _gives(exchange: Exchange) -> bool:
    """Whether what comes back is a value, and not only the end of an import."""
    return exchange.operations[-1][0] != "load"


def _told(value: Any) -> str:
    """What came back, in one line."""
    if isinstance(value, Tensor):
        return brief(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_told, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_told(item)}' for key, item in value.items())}}}"
    return source(value)


def transcript(exchanges: Sequence[Exchange]) -> list[str]:
    """The calls for an assistant to read, tensors in a few words, each with what came back; the last ones of many."""
    calls, lines = Calls(brief), [f"… {len(exchanges) - MOST} requests before these"] * (len(exchanges) > MOST)
    for one in exchanges[-MOST:]:
        lines += calls.of(one)
        if one.reply is None:
            lines.append("→ no answer")
        elif "value" in one.reply and _gives(one):
            lines.append(f"→ {_told(one.reply['value'])}")
    return lines


class Calls:
    """Writes requests as lines of Python, one after the other.

    Args:
        name: Gives an expression for a tensor.
        show: Whether to print what comes back.
    """

    def __init__(self, name: Name, show: bool = False) -> None:
        self._name, self._show = name, show
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
            expression = _LINES[operation](self._renamed(arguments), self._name)
            if operation in _SILENT:
                yield expression
                continue
            self._outputs += 1
            yield f"output_{self._outputs} = {expression}"
            if self._show:
                yield f'show("output_{self._outputs}", output_{self._outputs})'

    def _renamed(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments with the name of a module in place of its number."""
        number = arguments.get("number", arguments.get("target"))
        if not isinstance(number, int):
            return arguments
        name = self._modules.setdefault(number, f"module_{len(self._modules) + 1}")
        return {**arguments, "number" if "number" in arguments else "target": name}


def _value(value: Any, name: Name) -> str:
    return name(value) if isinstance(value, Tensor) else source(value)


def _listed(values: Sequence[Any], name: Name) -> str:
    return ", ".join(_value(value, name) for value in values)


def _named(values: Mapping[str, Any], name: Name) -> str:
    return ", ".join(f"{key}={_value(value, name)}" for key, value in values.items())


def _construct(own: Mapping[str, Any], name: Name) -> str:
    return f"{own['number']} = {own['name']}({_named(own['arguments'], name)})"


def _call(own: Mapping[str, Any], name: Name) -> str:
    return f"{own['target']}({_listed(own['arguments'], name)})"


def _observe(own: Mapping[str, Any], name: Name) -> str:
    return f"observed({own['target']}, {_listed(own['arguments'], name)})"


def _backward(own: Mapping[str, Any], name: Name) -> str:
    return f"gradients({own['target']}, [{_listed(own['arguments'], name)}], {name(own['upstream'])})"


def _method(own: Mapping[str, Any], name: Name) -> str:
    return f"{own['target']}.{own['name']}({_listed(own['arguments'], name)})"


def _assign_named(own: Mapping[str, Any], name: Name) -> str:
    values = ", ".join(f"{key!r}: {name(value)}" for key, value in own["values"].items())
    return f"set_named({own['target']}, {{{values}}})"


def _assign(own: Mapping[str, Any], name: Name) -> str:
    return f"set_learnt({own['target']}, [{_listed(own['values'], name)}])"


def _buffer_devices(own: Mapping[str, Any], name: Name) -> str:
    del name
    device, module = source(own["device"]), own["target"]
    return f"buffer_devices({module}.to({device}), torch.ones({own['shape']}, device={device}))"


def _attribute(text: str) -> Callable[[Mapping[str, Any], Name], str]:
    return lambda own, _: text.format(own["target"])


_SILENT = ("construct", "method", "assign", "assign_named")
_LINES: Mapping[str, Callable[[Mapping[str, Any], Name], str]] = {
    "construct": _construct,
    "call": _call,
    "observe": _observe,
    "backward": _backward,
    "method": _method,
    "assign_named": _assign_named,
    "assign": _assign,
    "buffer_devices": _buffer_devices,
    "parameters": _attribute("dict({}.named_parameters())"),
    "held": _attribute("dict({}.named_parameters())"),
    "buffers": _attribute("dict({}.named_buffers())"),
    "state_dict": _attribute("list({}.state_dict())"),
}
