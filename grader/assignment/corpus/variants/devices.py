"""Ways to handle devices, wrong and valid: the reference with a few of its lines written otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Way:
    """One way.

    Attributes:
        name: ``piece.what_it_does``, where the piece is a key of ``PIECES``.
        breaks: The property that must lose its points; none for a valid way.
        also: Properties that may lose theirs, too.
        edits: Lines of the reference, each followed by what takes its place; the lines are found in the piece.
    """

    name: str
    breaks: str
    also: str
    edits: Sequence[str]


def device_variants() -> Iterator[Variant]:
    """All ways as variants."""
    solution = ASSIGNMENT.solution()
    for name, (breaks, also, *edits) in WRONG.items():
        yield _variant(_Way(name, breaks, also, edits), solution, valid=False)
    for name, right in VALID.items():
        yield _variant(_Way(name, "", "", right), solution, valid=True)


def _variant(way: _Way, solution: Mapping[str, str], valid: bool) -> Variant:
    short, _, what = way.name.partition(".")
    piece = PIECES[short]
    home = ASSIGNMENT.rubric.file_of(piece)
    before, start, text = solution[home].partition(f"class {piece}" if piece[0].isupper() else f"def {piece}")
    for old, new in zip(way.edits[::2], way.edits[1::2], strict=True):
        if text.count(old) < 1:
            raise ValueError(f"{way.name}: the reference has no line {old!r}")
        text = text.replace(old, new, 1)
    return Variant(
        name=f"{'valid' if valid else 'wrong'}.devices.{short}_{what}",
        piece=piece,
        valid=valid,
        breaks=frozenset(way.breaks.split()),
        also=frozenset(way.also.split()) - frozenset(way.breaks.split()),
        hint="gradient_cut" if way.breaks.endswith("_backward") else None,
        description=what.replace("_", " "),
        files={**solution, home: before + start + text},
    )
