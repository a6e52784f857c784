"""Right submissions in many styles, none of them derived from ``ref/``: five pieces and their files, of parts that multiply.

They were written from the contract alone, to show that right work keeps all points however it is written. A piece is a
template whose places are filled from axes (``axes.py``). A style of files (``files.py``) then lays out the whole.
"""

from __future__ import annotations

from typing import Final

from grader.specimens.styles import Style

from . import embeddings, files, modules, norms, rotations, shards
from .axes import choose, fill

COMBINATIONS: Final = 300
PIECES: Final = {"norm": norms, "vocab": embeddings, "shard": shards, "rotation": rotations, "rope": modules}


def style(number: int) -> Style:
    """The combination of that number."""
    chosen = {piece: choose(piece, part.AXES, number) for piece, part in PIECES.items()}
    text = {piece: fill(part.TEMPLATE, part.AXES, chosen[piece], part.MORE) for piece, part in PIECES.items()}
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
            f"{piece} {axis}: {name}"
            for piece, option in {**chosen, "files": layout}.items()
            for axis, name in option.items()
        ),
        {path: content if isinstance(content, bytes) else content.encode() for path, content in laid_out.items()},
    )
