"""Ways to handle devices, wrong and valid: the reference with a few of its lines written otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.assignment import ASSIGNMENT
from grader.specimens.variants import Variant

from .devices_valid import VALID
from .devices_wrong import WRONG

PIECES = {
    "norm": "GroupRMSNorm",
    "vocab": "VocabEmbedding",
    "shard": "ParallelVocabEmbedding",
    "rotary": "apply_rotary_pos_emb",
    "rope": "NTKAwareRoPE",
}


def device_variants() -> Iterator[Variant]:
    """All ways as variants."""
    for name, (breaks, also, *edits) in WRONG.items():
        yield _variant(name, edits, breaks, also)
    for name, right in VALID.items():
        yield _variant(name, right)


def _variant(name: str, edits: Sequence[str], breaks: str = "", also: str = "") -> Variant:
    """A way called ``piece.what_it_does``; each edit is a line of the piece, followed by what takes its place."""
    short, _, what = name.partition(".")
    piece, files = PIECES[short], ASSIGNMENT.solution()
    home = ASSIGNMENT.rubric.file_of(piece)
    before, start, text = files[home].partition(f"class {piece}" if piece[0].isupper() else f"def {piece}")
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if text.count(old) < 1:
            raise ValueError(f"{name}: the reference has no line {old!r}")
        text = text.replace(old, new, 1)
    return Variant(
        name=f"{'wrong' if breaks else 'valid'}.devices.{short}_{what}",
        piece=piece,
        valid=not breaks,
        files=files | {home: before + start + text},
        breaks=frozenset(breaks.split()),
        also=frozenset(also.split()) - frozenset(breaks.split()),
        hint="gradient_cut" if breaks.endswith("_backward") else "",
        description=what.replace("_", " "),
    )
