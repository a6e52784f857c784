"""Submissions made of steps: for each piece a template with its steps cut out, and for each step its mistakes.

The variants hold one mistake each, as students write it; here every mistake alone, and every pair of them, can be had.
Each piece has a file: its template, the right steps, and the slips as data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from grader.assignment import ASSIGNMENT

from . import functional, norm, pos_emb, shard, vocab
from .slip import Slip
from .styles import STYLES

__all__ = ["SLIPS", "Slip", "combined_styles", "pairs_of_slips", "sampled_pairs", "submission", "task_of_slip"]

PIECES = {
    "src/modeling/norm.py": (norm,),
    "src/modeling/vocab_emb.py": (vocab, shard),
    "src/functional.py": (functional,),
    "src/modeling/pos_emb.py": (pos_emb,),
}
FAMILIES = (norm.SLIPS, vocab.SLIPS, shard.SLIPS, (*functional.SLIPS, *pos_emb.SLIPS))
SLIPS: tuple[Slip, ...] = tuple(slip for family in FAMILIES for slip in family)


def task_of_slip(slip: Slip) -> str:
    """The task that a slip belongs to."""
    families = zip(FAMILIES, STYLES, strict=True)
    return next(f"task{number}" for number, both in enumerate(families, 1) for family in both if slip in family)


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


def submission(slips: Sequence[Slip]) -> dict[str, str]:
    """The reference with its pieces replaced by those of the templates, and these slips in them."""
    files = ASSIGNMENT.solution()
    changed: Mapping[str, str] = {step: code for slip in slips for step, code in slip.steps.items()}
    for path, pieces in PIECES.items():
        for piece in pieces:
            files[path] += piece.TEMPLATE.format(**{**piece.RIGHT, **changed})
    return files
