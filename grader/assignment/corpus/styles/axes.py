"""How a style becomes source text: the files of pieces, axes that multiply, and one option of each in a template."""

from __future__ import annotations

import random
import re
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Option = str | Mapping[str, str]  # what takes the place of ``$axis``; or of several places, by name
Axis = Mapping[str, Option]  # options by name

# Options that torch itself cannot combine: it fails to compile some functions with a backward of their own.
CLASHES: Final = {frozenset(("Function", "compiled"))}
PLACE: Final = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Piece:
    """A class or function in many styles.

    Attributes:
        template: Its text, with places.
        axes: In the order in which they are chosen.
        more: Further texts, by place.
    """

    template: str
    axes: Mapping[str, Axis]
    more: Mapping[str, str]


def table(name: str) -> dict[str, Any]:
    """The content of a file in this folder."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def piece(name: str) -> Piece:
    """A piece from its file; axes that it lacks are those of the piece that it is like, or of ``shared.toml``."""
    own, shared = table(name), table("shared")
    like = table(own["like"]) if "like" in own else {"axes": {}, "more": {}}
    axes = {
        axis: shared["axes"].get(axis, {}) | (own["axes"].get(axis) or like["axes"].get(axis, {}))
        for axis in own["order"]
    }
    return Piece(own["template"], axes, shared["more"] | like["more"] | own["more"])


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


def fill(piece: Piece, chosen: Mapping[str, str]) -> str:
    """Put the chosen options, and ``more``, in the places of the template, and so on until no place is left."""
    parts = {**piece.more}
    for axis, name in chosen.items():
        option = piece.axes[axis][name]
        parts |= {axis: option} if isinstance(option, str) else option
    text = tidy(piece.template)
    while place := PLACE.search(text):
        line = text[text.rfind("\n", 0, place.start()) + 1 : place.start()]
        indent = line[: len(line) - len(line.lstrip())]
        part = tidy(parts[place[1]]).replace("\n", f"\n{indent}")
        text = text[: place.start()] + part + text[place.end() :]
    return text + "\n"
