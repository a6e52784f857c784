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
    law = assignment.laws.get(property_id, {}).get(language)
    body = [*_body(exchanges, language)]
    text = "\n".join(body)
    helpers = [code for name, code in HELPERS.items() if f"{name}(" in text]
    head = [
        f"{prop.title[language]}",
        "",
        *([f"{say['law']}{law}", ""] if law else []),
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

    for line in calls(exchanges, name, show=True):
        yield from inputs
        inputs.clear()
        yield line
    if any(not one.own for one in exchanges):
        yield f"# {WORDS[language]['left_out']}"
    for one in exchanges:
        if one.own and one.reply is not None and "value" in one.reply and _shown(one):
            yield f"# {WORDS[language]['came_back']}{_told(one.reply['value'])}"


def _shown(exchange: Exchange) -> bool:
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
    """The calls for an assistant to read, tensors in a few words, each with what came back."""
    lines = []
    for one in exchanges:
        lines += list(calls([one], brief, show=False))
        if one.reply is None:
            lines.append("→ no answer")
        elif "value" in one.reply and _shown(one):
            lines.append(f"→ {_told(one.reply['value'])}")
    return lines


def calls(exchanges: Sequence[Exchange], name: Name, show: bool) -> Iterator[str]:
    """The requests as lines of Python; those with another text of a file are left out.

    Args:
        exchanges: In order.
        name: Gives an expression for a tensor.
        show: Whether to print what comes back.
    """
    imported: set[str] = set()
    outputs = 0
    for one in exchanges:
        for operation, arguments in one.operations if one.own else ():
            if operation == "load":
                line = f"from {arguments['module']} import {arguments['name']}"
                if line not in imported:
                    imported.add(line)
                    yield line
                continue
            expression = _LINES[operation](arguments, name)
            if operation in _SILENT:
                yield expression
                continue
            outputs += 1
            result = f"output_{outputs}"
            yield f"{result} = {expression}"
            if show:
                yield f'show("{result}", {result})'


def _target(target: int | str) -> str:
    return f"module_{target}" if isinstance(target, int) else target


def _value(value: Any, name: Name) -> str:
    return name(value) if isinstance(value, Tensor) else source(value)


def _listed(values: Sequence[Any], name: Name) -> str:
    return ", ".join(_value(value, name) for value in values)


def _named(values: Mapping[str, Any], name: Name) -> str:
    return ", ".join(f"{key}={_value(value, name)}" for key, value in values.items())


def _construct(own: Mapping[str, Any], name: Name) -> str:
    return f"module_{own['number']} = {own['name']}({_named(own['arguments'], name)})"


def _call(own: Mapping[str, Any], name: Name) -> str:
    return f"{_target(own['target'])}({_listed(own['arguments'], name)})"


def _observe(own: Mapping[str, Any], name: Name) -> str:
    return f"observed({_target(own['target'])}, {_listed(own['arguments'], name)})"


def _backward(own: Mapping[str, Any], name: Name) -> str:
    return f"gradients({_target(own['target'])}, [{_listed(own['arguments'], name)}], {name(own['upstream'])})"


def _method(own: Mapping[str, Any], name: Name) -> str:
    return f"{_target(own['target'])}.{own['name']}({_listed(own['arguments'], name)})"


def _assign_named(own: Mapping[str, Any], name: Name) -> str:
    values = ", ".join(f"{key!r}: {name(value)}" for key, value in own["values"].items())
    return f"set_named({_target(own['target'])}, {{{values}}})"


def _assign(own: Mapping[str, Any], name: Name) -> str:
    return f"set_learnt({_target(own['target'])}, [{_listed(own['values'], name)}])"


def _buffer_devices(own: Mapping[str, Any], name: Name) -> str:
    del name
    device, module = source(own["device"]), _target(own["target"])
    return f"buffer_devices({module}.to({device}), torch.ones({own['shape']}, device={device}))"


def _attribute(text: str) -> Callable[[Mapping[str, Any], Name], str]:
    return lambda own, _: text.format(_target(own["target"]))


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
