"""Right submissions in many styles, none of them derived from ``ref/``: pieces, and files, whose parts multiply.

Their texts were written from the contract alone, to show that right work keeps all points however it is written. A piece is
a template whose places are filled from axes (``axes.py``); a style of files (``files.py``) then changes how the whole is laid out.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from . import embeddings, files, modules, norms, rotations, shards
from .axes import choose, fill

COMBINATIONS: Final = 300
PIECES: Final = {"norm": norms, "vocab": embeddings, "shard": shards, "rotation": rotations, "rope": modules}

# What works wherever Python may start threads and read its own files, which is more than a process of its own grants.
NEEDS_A_NORMAL_PYTHON: Final = frozenset(
    {"norm groups: vmap", "norm groups: threads"}
    | {f"{piece} frame: {f}" for piece in PIECES for f in ("checkpoint", "compiled", "not compiled", "thread")}
)


@dataclass(frozen=True)
class Style:
    """A right submission.

    Attributes:
        number: Its number among all combinations.
        options: The chosen options, such as ``norm mean: einsum``.
        files: The whole submission, from path to content.
    """

    number: int
    options: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)


def style(number: int, without: Collection[str] = ()) -> Style:
    """The combination of that number, without some options."""
    chosen = {piece: choose(piece, part.AXES, number, without) for piece, part in PIECES.items()}
    text = {piece: fill(part.TEMPLATE, part.AXES, chosen[piece], **part.MORE) for piece, part in PIECES.items()}
    layout = choose("files", {"style": dict.fromkeys(files.STYLES, "")}, number, without)["style"]
    laid_out = files.STYLES[layout](
        {
            files.ROOT: "",
            files.PACKAGE: "from .norm import GroupRMSNorm\nfrom .pos_emb import NTKAwareRoPE\nfrom .vocab_emb import ParallelVocabEmbedding, VocabEmbedding\n",
            files.NORM: text["norm"],
            files.VOCAB: text["vocab"] + text["shard"],
            files.ROPE: text["rope"],
            files.ROTATION: text["rotation"],
        }
    )
    return Style(
        number,
        (*(f"{piece} {axis}: {name}" for piece, own in chosen.items() for axis, name in own.items()), f"files style: {layout}"),
        {path: content if isinstance(content, bytes) else content.encode() for path, content in laid_out.items()},
    )
