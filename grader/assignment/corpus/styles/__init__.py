"""Right submissions in many styles, none of them derived from ``ref/``: five pieces and their files, of parts that multiply.

They were written from the contract alone, to show that right work keeps all points however it is written. A piece is a
template whose places are filled from axes, all in its TOML file. A style of files (``files.py``) then lays out the whole.
"""

from __future__ import annotations

from typing import Final

from grader.specimens.styles import Style

from . import files
from .axes import choose, fill, piece

COMBINATIONS: Final = 300
PIECES: Final = {name: piece(name) for name in ("norm", "vocab", "shard", "rotation", "rope")}


def style(number: int) -> Style:
    """The combination of that number."""
    chosen = {name: choose(name, one.axes, number) for name, one in PIECES.items()}
    text = {name: fill(one, chosen[name]) for name, one in PIECES.items()}
    layout = choose("files", {"style": dict.fromkeys(files.STYLES, "")}, number)
    laid_out = files.STYLES[layout["style"]](
        {
            files.ROOT: "",
            files.PACKAGE: files.NAMED,
            files.NORM: text["norm"],
            files.VOCAB: text["vocab"] + text["shard"],
            files.ROPE: text["rope"],
            files.ROTATION: text["rotation"],
        }
    )
    return Style(
        number,
        tuple(
            f"{name} {axis}: {option}"
            for name, options in {**chosen, "files": layout}.items()
            for axis, option in options.items()
        ),
        {path: content if isinstance(content, bytes) else content.encode() for path, content in laid_out.items()},
    )
