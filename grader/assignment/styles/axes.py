"""How a style becomes source text: axes that multiply, one option of each, and the axes that all pieces share."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Collection, Mapping
from typing import Final

Option = str | Mapping[str, str]  # what takes the place of ``$axis``; or of several places, by name
Axis = Mapping[str, Option]  # options by name

CLASHES: Final = {frozenset(("Function", "compiled"))}  # torch fails to compile some functions with a backward of their own

PLACE: Final = re.compile(r"\$(\w+)")

HEADER = """
    import functools
    import itertools
    import math
    import typing
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn
"""


def choose(piece: str, axes: Mapping[str, Axis], number: int, without: Collection[str] = ()) -> dict[str, str]:
    """The options of one combination, by axis.

    Each axis is shuffled anew whenever it is used up, so as many combinations as it has options have each of them once.
    """
    chosen: dict[str, str] = {}
    for axis, options in axes.items():
        names = [name for name in options if f"{piece} {axis}: {name}" not in without]
        turn, place = divmod(number, len(names))
        order = random.Random(f"{piece} {axis} {turn}").sample(names, len(names))
        chosen[axis] = next(
            name
            for name in order[place:] + order[:place]
            if not any(clash <= {name, *chosen.values()} for clash in CLASHES)
        )
    return chosen


def tidy(text: str) -> str:
    """The text without the indentation that all lines share, and without empty lines around it."""
    return textwrap.dedent(text).strip("\n").rstrip()


def fill(text: str, axes: Mapping[str, Axis], chosen: Mapping[str, str], **more: str) -> str:
    """Put the chosen options, and ``more``, in the places of ``text``, and so on until no place is left."""
    parts = dict(more)
    for axis, name in chosen.items():
        option = axes[axis][name]
        parts |= {axis: option} if isinstance(option, str) else option
    text = tidy(text)
    while place := PLACE.search(text):
        line = text[text.rfind("\n", 0, place.start()) + 1 : place.start()]
        indent = line[: len(line) - len(line.lstrip())]
        part = tidy(parts[place[1]]).replace("\n", f"\n{indent}")
        text = text[: place.start()] + part + text[place.end() :]
    return text + "\n"


# ── Sizes that do not divide: $whole and $part are names of arguments ───────────────────────────────────────────────

CHECKS: Axis = {
    "raise": 'if $whole % $part != 0:\n    raise ValueError(f"$whole={$whole} is not a multiple of $part={$part}")',
    "assert": 'assert $whole % $part == 0, f"{$whole} does not divide by {$part}"',
    "divmod": """
        quotient, rest = divmod($whole, $part)
        if rest:
            raise ValueError("%d = %d * %d + %d" % ($whole, quotient, $part, rest))
    """,
    "match": """
        match $whole % $part:
            case 0:
                pass
            case rest:
                raise ValueError("$whole {}, $part {}: {} left".format($whole, $part, rest))
    """,
    "gcd": 'if math.gcd($whole, $part) != $part:\n    raise ValueError(f"{$part=} is no divisor of {$whole=}")',
    "walrus": 'if rest := $whole % $part:\n    raise ValueError(f"{$whole} % {$part} == {rest}")',
    "own class": """
        class BadSize(ValueError):
            def __init__(self, **sizes):
                super().__init__(", ".join(f"{name}={size}" for name, size in sizes.items()))

        if ($whole // $part) * $part != $whole:
            raise BadSize($whole=$whole, $part=$part)
    """,
    "from assert": """
        try:
            assert not $whole % $part
        except AssertionError as error:
            raise ValueError(f"cannot cut {$whole} into {$part}") from error
    """,
}

# ── Drawing $table with $seed: `$kind_` is uniform_ or normal_, `$first` and `$second` its numbers ───────────────────

SEEDS: Axis = {
    "global": "torch.manual_seed($seed)\n$draw",
    "random": "torch.random.manual_seed(int($seed))\n$draw",
    "fork": "with torch.random.fork_rng():\n    torch.manual_seed($seed)\n    $draw",
    "restored": """
        before = torch.get_rng_state()
        try:
            torch.manual_seed($seed)
            $draw
        finally:
            torch.set_rng_state(before)
    """,
    "generator": "generator = torch.Generator(device=$table.device)\ngenerator.manual_seed($seed)\n$draw",
    "generator at once": "generator = torch.Generator($table.device).manual_seed($seed)\n$draw",
}
SEEDS = {name: {"seeds": text, "by": ", generator=generator" * ("generator" in name)} for name, text in SEEDS.items()}

DRAWS: Axis = {
    "init": "nn.init.$kind_($table, $first, $second$by)",
    "data": "$table.data.$kind_($first, $second$by)",
    "no grad": "with torch.no_grad():\n    $table.$kind_($first, $second$by)",
    "detached": "$table.detach().$kind_($first, $second$by)",
    "copied": "with torch.no_grad():\n    $table.copy_(torch.empty_like($table).$kind_($first, $second$by))",
    "in float32": """
        values = torch.empty($table.shape, device=$table.device).$kind_($first, $second$by)
        $table.data.copy_(values)
    """,
    "new data": """
        values = torch.empty_like($table.data, dtype=torch.float32).$kind_($first, $second$by)
        $table.data = values.to($table.dtype)
    """,
    "decorated": """
        @torch.no_grad()
        def draw():
            $table.$kind_($first, $second$by)

        draw()
    """,
}


# ── What stands around a class: helpers before it, bases of it, a decorator of its forward ──────────────────────────


def _decorated(name: str, *body: str, imports: str = "") -> dict[str, str]:
    lines = "\n".join(f"        {line}" for line in body)
    helpers = f"""{imports}
def {name}(forward):
    @functools.wraps(forward)
    def wrapped(self, input):
{lines}

    return wrapped
"""
    return {"helpers": helpers, "bases": "nn.Module", "decorator": f"@{name}"}


FRAMES: Axis = {
    "plain": {"helpers": "", "bases": "nn.Module", "decorator": ""},
    "torch.nn": {"helpers": "", "bases": "torch.nn.modules.module.Module", "decorator": "# input -> output"},
    "annotated call": {"helpers": "", "bases": "nn.Module", "decorator": "__call__: typing.Callable[..., Tensor]\n"},
    "mixin": {
        "helpers": """
            class Shown:
                def extra_repr(self):
                    return ", ".join(f"{k}={v}" for k, v in vars(self).items() if not k.startswith("_"))
        """,
        "bases": "Shown, nn.Module",
        "decorator": "",
    },
    "abstract": {
        "helpers": """
            import abc

            class Layer(nn.Module, abc.ABC):
                @abc.abstractmethod
                def forward(self, input: Tensor) -> Tensor: ...
        """,
        "bases": "Layer",
        "decorator": "@typing.no_type_check",
    },
    "registered": {
        "helpers": """
            LAYERS: dict[str, type] = {}

            class Registered(nn.Module):
                def __init_subclass__(cls, name=None, **kwargs):
                    super().__init_subclass__(**kwargs)
                    LAYERS[name or cls.__name__] = cls
        """,
        "bases": "Registered, name='layer'",
        "decorator": "",
    },
    "generic": {
        "helpers": 'T = typing.TypeVar("T", bound=torch.Tensor)',
        "bases": "nn.Module, typing.Generic[T]",
        "decorator": "",
    },
    "slotted": {
        "helpers": "class Base(nn.Module):\n    __slots__ = ()\n    training: bool",
        "bases": "Base",
        "decorator": "",
    },
    "checked": _decorated("checked", "output = forward(self, input)", "assert output.device == input.device", "return output"),
    "full precision": _decorated(
        "full_precision",
        "with torch.autocast(device_type='cpu', enabled=False):",
        "    return forward(self, input)",
    ),
    "counted": _decorated("counted", "wrapped.calls = getattr(wrapped, 'calls', 0) + 1", "return forward(self, input)"),
    "checkpoint": _decorated(
        "checkpointed",
        "return checkpoint(forward, self, input, use_reentrant=False)",
        imports="from torch.utils.checkpoint import checkpoint\n",
    ),
    "compiled": {"helpers": "", "bases": "nn.Module", "decorator": "@torch.compile(backend='eager')"},
    "not compiled": {"helpers": "", "bases": "nn.Module", "decorator": "@torch.compiler.disable"},
    "thread": _decorated(
        "in_a_thread",
        "with ThreadPoolExecutor(max_workers=1) as pool:",
        "    return pool.submit(forward, self, input).result()",
        imports="from concurrent.futures import ThreadPoolExecutor\n",
    ),
}
