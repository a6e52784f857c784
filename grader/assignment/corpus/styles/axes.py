"""How a style becomes source text: axes that multiply, one option of each, and the axes that all pieces share."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Mapping
from typing import Final

Option = str | Mapping[str, str]  # what takes the place of ``$axis``; or of several places, by name
Axis = Mapping[str, Option]  # options by name

# Options that torch itself cannot combine: it fails to compile some functions with a backward of their own.
CLASHES: Final = {frozenset(("Function", "compiled"))}
PLACE: Final = re.compile(r"\$(\w+)")

HEADER: Final = """
    import functools
    import itertools
    import math
    import typing
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn
"""


def choose(piece: str, axes: Mapping[str, Axis], number: int) -> dict[str, str]:
    """The options of one combination, by axis.

    Each axis is shuffled anew whenever it is used up, so as many combinations as it has options have each of them once.
    """
    chosen: dict[str, str] = {}
    for axis, options in axes.items():
        turn, place = divmod(number, len(options))
        order = random.Random(f"{piece} {axis} {turn}").sample([*options], len(options))
        chosen[axis] = next(
            name
            for name in order[place:] + order[:place]
            if not any(clash <= {name, *chosen.values()} for clash in CLASHES)
        )
    return chosen


def tidy(text: str) -> str:
    """The text without the indentation that all lines share, and without empty lines around it."""
    return textwrap.dedent(text).strip("\n").rstrip()


def fill(text: str, axes: Mapping[str, Axis], chosen: Mapping[str, str], more: Mapping[str, str]) -> str:
    """Put the chosen options, and ``more``, in the places of ``text``, and so on until no place is left."""
    parts = {**more}
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


def several(places: str, options: Mapping[str, tuple[str, ...]]) -> Axis:
    """An axis whose options fill several places."""
    return {name: dict(zip(places.split(), texts, strict=True)) for name, texts in options.items()}


# ── Sizes that do not divide: $whole and $part are names of arguments ───────────────────────────────────────────────

CHECKS: Axis = {
    "raise": 'if $whole % $part != 0:\n    raise ValueError(f"$whole={$whole} is not a multiple of $part={$part}")',
    "assert": 'assert $whole % $part == 0, f"{$whole} does not divide by {$part}"',
    "divmod": 'n, rest = divmod($whole, $part)\nif rest:\n    raise ValueError("%d = %d * %d + %d" % ($whole, n, $part, rest))',
    "match": """
        match $whole % $part:
            case 0:
                pass
            case rest:
                raise ValueError("$whole {}, $part {}: {} left".format($whole, $part, rest))
    """,
    "gcd": 'if math.gcd($whole, $part) != $part:\n    raise ValueError(f"{$part=} is no divisor of {$whole=}")',
    "walrus": 'if rest := $whole % $part:\n    raise ValueError(f"{$whole} % {$part} == {rest}")',
}

# ── Drawing $table with $seed: `$kind_` is uniform_ or normal_, `$first` and `$second` its numbers ───────────────────

RESTORED: Final = """
before = torch.get_rng_state()
try:
    torch.manual_seed($seed)
    $draw
finally:
    torch.set_rng_state(before)
"""
SEEDS: Axis = several(
    "seeds by",
    {
        "global": ("torch.manual_seed($seed)\n$draw", ""),
        "fork": ("with torch.random.fork_rng():\n    torch.manual_seed($seed)\n    $draw", ""),
        "restored": (RESTORED, ""),
        "generator": ("g = torch.Generator(device=$table.device)\ng.manual_seed($seed)\n$draw", ", generator=g"),
        "at once": ("g = torch.Generator($table.device).manual_seed($seed)\n$draw", ", generator=g"),
    },
)

DRAWS: Axis = {
    "init": "nn.init.$kind_($table, $first, $second$by)",
    "data": "$table.data.$kind_($first, $second$by)",
    "no grad": "with torch.no_grad():\n    $table.$kind_($first, $second$by)",
    "detached": "$table.detach().$kind_($first, $second$by)",
    "copied": "with torch.no_grad():\n    $table.copy_(torch.empty_like($table).$kind_($first, $second$by))",
    "in float32": "values = torch.empty($table.shape, device=$table.device)\n$table.data.copy_(values.$kind_($first, $second$by))",
    "new data": """
        values = torch.empty_like($table.data, dtype=torch.float32).$kind_($first, $second$by)
        $table.data = values.to($table.dtype)
    """,
    "decorated": "@torch.no_grad()\ndef draw():\n    $table.$kind_($first, $second$by)\n\ndraw()",
}

# ── What stands around a class: helpers before it, its bases, a decorator of its forward ────────────────────────────

WRAPPED: Final = """
def wrapping(forward):
    @functools.wraps(forward)
    def wrapped(self, input):
        {}

    return wrapped
"""
MIXIN: Final = """
class Shown:
    def extra_repr(self):
        return ", ".join(f"{k}={v}" for k, v in vars(self).items() if not k.startswith("_"))
"""
ABSTRACT: Final = """
import abc

class Layer(nn.Module, abc.ABC):
    @abc.abstractmethod
    def forward(self, input: Tensor) -> Tensor: ...
"""
REGISTERED: Final = """
LAYERS: dict[str, type] = {}

class Registered(nn.Module):
    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        LAYERS[name or cls.__name__] = cls
"""
CHECKPOINT: Final = (
    "from torch.utils.checkpoint import checkpoint\n\nreturn checkpoint(forward, self, input, use_reentrant=False)"
)

FRAMES: Axis = several(
    "helpers bases decorator",
    {
        "plain": ("", "nn.Module", ""),
        "annotated call": ("", "torch.nn.modules.module.Module", "__call__: typing.Callable[..., Tensor]\n"),
        "mixin": (MIXIN, "Shown, nn.Module", ""),
        "abstract": (ABSTRACT, "Layer", "@typing.no_type_check"),
        "registered": (REGISTERED, "Registered, name='layer'", ""),
        "generic": ('T = typing.TypeVar("T", bound=torch.Tensor)', "nn.Module, typing.Generic[T]", ""),
        "counted": (WRAPPED.format("wrapped.calls = 1\n        return forward(self, input)"), "nn.Module", "@wrapping"),
        "full precision": (
            WRAPPED.format("with torch.autocast('cpu', enabled=False):\n            return forward(self, input)"),
            "nn.Module",
            "@wrapping",
        ),
        "checkpoint": (WRAPPED.format(CHECKPOINT.replace("\n", "\n        ")), "nn.Module", "@wrapping"),
        "compiled": ("", "nn.Module", "@torch.compile(backend='eager')"),
        "not compiled": ("", "nn.Module", "@torch.compiler.disable"),
    },
)
