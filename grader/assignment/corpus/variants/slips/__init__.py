"""Submissions made of steps: for each piece a template with its steps cut out, and for each step its mistakes.

Every mistake alone, and every pair of them, can be had. The variants hold one mistake each, as students write it; those
that one slip makes are made of it.
Each piece has a file: its template, the right steps, and the slips as data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from grader.assignment import ASSIGNMENT
from grader.specimens.variants import Variant

from . import functional, norm, pos_emb, shard, vocab
from .alone import ALONE
from .slip import Slip
from .styles import STYLES

__all__ = ["SLIPS", "Slip", "combined_styles", "from_slips", "pairs_of_slips", "sampled_pairs", "submission"]

PIECES = {
    "GroupRMSNorm": norm,
    "VocabEmbedding": vocab,
    "ParallelVocabEmbedding": shard,
    "apply_rotary_pos_emb": functional,
    "NTKAwareRoPE": pos_emb,
}
FAMILIES = (norm.SLIPS, vocab.SLIPS, shard.SLIPS, (*functional.SLIPS, *pos_emb.SLIPS))
SLIPS: tuple[Slip, ...] = tuple(slip for family in FAMILIES for slip in family)


def pairs_of_slips() -> list[tuple[Slip, Slip]]:
    """Every pair in one task that costs different properties, touches no step twice, and runs."""
    return [
        (first, second)
        for slips in FAMILIES
        for first, second in combinations(slips, 2)
        if not first.properties & second.properties
        and not first.steps.keys() & second.steps.keys()
        and first.name not in second.excludes
        and second.name not in first.excludes
    ]


def sampled_pairs(every: int) -> list[tuple[Slip, Slip]]:
    """Each ``every``-th of the pairs: the same ones each time, spread over all tasks."""
    return pairs_of_slips()[::every]


def combined_styles(every: int = 15) -> list[tuple[Slip, ...]]:
    """Each style alone, and each ``every``-th of the pairs that touch no step twice: right, however unusual."""
    pairs = [
        pair for styles in STYLES for pair in combinations(styles, 2) if not pair[0].steps.keys() & pair[1].steps.keys()
    ]
    return [*((style,) for styles in STYLES for style in styles), *pairs[::every]]


def submission(slips: Sequence[Slip]) -> Variant:
    """The reference with its pieces replaced by those of the templates, and slips of one task in them, or none."""
    changed = {step: code for slip in slips for step, code in slip.steps.items()}
    files = ASSIGNMENT.solution()
    for piece in PIECES:
        files[ASSIGNMENT.rubric.file_of(piece)] += _written(piece, changed)
    broken = frozenset[str]().union(*(slip.properties for slip in slips))
    return Variant(
        name="+".join(slip.name for slip in slips),
        piece=next((name for name, piece in PIECES.items() if changed.keys() & piece.RIGHT.keys()), "GroupRMSNorm"),
        valid=not broken,
        files=files,
        breaks=broken,
        hint=" ".join(sorted({slip.misconception for slip in slips if slip.misconception})),
    )


def from_slips() -> Iterator[Variant]:
    """The wrong variants that one slip makes; everything but their piece is the reference's."""
    slips = {slip.name: slip for slip in SLIPS}
    for topic, named in ALONE.items():
        for name, (slip, description) in named.items():
            whole, files = submission([slips[slip]]), ASSIGNMENT.solution()
            files[ASSIGNMENT.rubric.file_of(whole.piece)] += _written(whole.piece, slips[slip].steps)
            yield replace(whole, name=f"wrong.{topic}.{name}", description=description, files=files)


def _written(piece: str, changed: Mapping[str, str]) -> str:
    """The template of a piece with the right steps, but for those that are changed."""
    return str(PIECES[piece].TEMPLATE.format(**{**PIECES[piece].RIGHT, **changed}))
