"""The output of ``grader reproduce``: a case as lines of Python with their replies; and the prompt of its debugger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from rich.text import Text
from torch import Tensor

from grader.core.cli.terminal import OUT, chosen, say
from grader.core.intake.origin import clean
from grader.core.judge.faults import told_frame
from grader.core.results.report import CaseReport, PropertyReport, Report
from grader.core.results.views import in_words
from grader.shared.second_device import is_here

from .bench import Bench, Exchange, Reproduction

MOST_REQUESTS = 12  # requests that are shown
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
    "parameters": "dict({target}.named_parameters())",
    "held": "dict({target}.named_parameters())",
    "buffers": "dict({target}.named_buffers())",
    "state_dict": "list({target}.state_dict())",
}
IN_PLACE = "  # in the tensors of its call before, if they are like these"
BETWEEN = "  # after another call, with {listed}"
NO_GRAD = "  # under torch.no_grad()"
NEEDING = "  # its arguments require gradients"
FROZEN = "  # with requires_grad=False for its parameters"

MOST = 1000  # characters of a line
MARGIN = 12
NO_FRAMES = "none: no exception was raised; --pdb stops on entry to the student's code"
CHANGED = "differs from the report: files, tests or machine have changed, or the code is not deterministic"
NOT_ALONE = "passes alone; fails after the other cases of its property, which are shown too"
NO_CODE = "this case runs no student code, so there is nothing to step through."
HELLO = "Debugger in a sandboxed worker: n next line, s step into, c continue, p NAME print, q quit."


def show_case(
    report: Report,
    prop: PropertyReport,
    case: CaseReport,
    again: Reproduction,
    files: Mapping[str, str],
    language: str,
) -> None:
    """Print the report's text on a case, its result now, and its requests."""
    now = again.result
    message = in_words(now.message, chosen(), language)
    title = f"{report.submission.id}: {clean(prop.title)}  {prop.points:g}/{prop.max_points:g}  ({prop.id})"
    say(title, "bold")
    _part("report", [f"{case.outcome}: {case.message.partition(chr(10))[0]}  ({case.id})"])
    _part("hint", [prop.hint])
    _part("now", [f"{now.outcome}: {message.partition(chr(10))[0]}" if message else now.outcome])
    if now.outcome is not case.outcome:
        _part("", [CHANGED])
    elif not again.alone:
        _part("", [NOT_ALONE])
    _part("requests", transcript(again.exchanges))
    _part("frames", _frames(again, files) or [NO_FRAMES])


def _frames(again: Reproduction, files: Mapping[str, str]) -> list[str]:
    """The student's own frames of the exception that the result tells, or else of the last; the innermost one last."""
    errors = [one.reply.get("error") if one.reply else None for one in again.exchanges]
    listed = [error.get("frames") for error in errors if isinstance(error, Mapping)]
    found = [[*chain(*(told_frame(one, files) for one in frames))] for frames in listed if isinstance(frames, list)]
    last = found[-1] if found else []
    told = next((frames for frames in found if frames and frames[-1] in again.result.message), last)
    return [frame.strip() for frame in told]


def _part(name: str, lines: list[str]) -> None:
    """A name in the margin, and lines beside it."""
    for number, line in enumerate(lines):
        margin = (name if number == 0 else "").ljust(MARGIN)
        OUT.print(Text.assemble((margin, "dim"), clean(line, MOST)), soft_wrap=True)


def converse(bench: Bench, files: Mapping[str, str], again: Reproduction) -> None:
    """Let a person talk to the debugger until it ends.

    Raises:
        WorkerFailed: If the process ends, by a limit or by itself.
    """
    say(HELLO, "dim")
    if bench.debug(files, again, _answer) is None:
        say(NO_CODE)


def _answer(said: str) -> str:
    """Show the debugger's output without control characters, and read a line of input."""
    *lines, prompt = ("".join(char if char.isprintable() else "?" for char in line) for line in said.split("\n"))
    for line in lines:
        say(line)
    try:
        return input(prompt) + "\n"
    except EOFError:
        return ""


def transcript(exchanges: Sequence[Exchange]) -> list[str]:
    """The last calls, each with its result; tensors in a few words.

    A request that needs another text of a file has no line of its own.
    """
    lines = [f"… {len(exchanges) - MOST_REQUESTS} earlier requests"] * (len(exchanges) > MOST_REQUESTS)
    imports: set[str] = set()
    modules: dict[int, str] = {}  # by the numbers that the requests give them
    outputs = count(1)
    for one in exchanges[-MOST_REQUESTS:]:
        for operation, fields in one.operations if one.own else ():
            if operation == "load":
                line = f"from {fields['module']} import {fields['name']}"
                lines += [line] * (line not in imports)
                imports.add(line)
                continue
            known = {key: fields[key] for key in ("number", "target") if isinstance(fields.get(key), int)}
            named = {key: modules.setdefault(place, f"module_{len(modules) + 1}") for key, place in known.items()}
            line = _line(operation, {**fields, **named})
            lines.append(line if operation in SILENT else f"output_{next(outputs)} = {line}")
        if one.reply is None:
            lines.append("→ no answer")
        elif "value" in one.reply and one.operations[-1][0] != "load":
            lines.append(f"→ {brief(one.reply['value'])}")
    return lines


def _line(operation: str, fields: Mapping[str, Any]) -> str:
    """One operation as an expression, or a statement if it is silent."""
    arguments = fields.get("arguments", ())
    named = arguments if isinstance(arguments, Mapping) else {}
    listed = [f"{key}={brief(value)}" for key, value in named.items()] if named else map(brief, arguments)
    told = {key: value if key in VERBATIM else brief(value) for key, value in fields.items()}
    line = LINES[operation].format(**told, listed=", ".join(listed))
    if between := fields.get("between"):
        line += BETWEEN.format(listed=", ".join(map(brief, between)))
    line += IN_PLACE * bool(fields.get("again")) + FROZEN * bool(fields.get("frozen"))
    return line + NO_GRAD * (not fields.get("recording", True)) + NEEDING * bool(fields.get("needing"))


def brief(value: Any) -> str:
    """A value as an expression; a tensor by its dtype, its shape and its first elements.

    A second device is called ``cuda``, as the simulated one is known nowhere else.
    """
    match value:
        case Tensor():
            kind = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
            first = value.detach().cpu().flatten()[:SHOWN].tolist()
            numbers = [f"{number:.4g}" if isinstance(number, float) else repr(number) for number in first]
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
