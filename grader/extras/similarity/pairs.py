"""Ranks pairs of submissions by the code that they share and that few other submissions have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from grader.core.messages import Message, say

from .library import Finding, first_of_each
from .work import NOTHING, SHORT, Array, Near, Piece, Work

EVERYTHING: Final = ""  # used in place of a path for all files of a pair together
WORTH: Final = SHORT // 2  # distinctive characters; pairs with fewer are not listed
LINKED: Final = 0.8  # two submissions are in one group if each shares at least this part with the other
MAX_PAIRS: Final = 1000  # for each file, how many pairs are compared in detail
CHUNK: Final = 4096  # passages counted at a time, which bounds the memory
UNIT: Final = 1000  # weights are whole numbers of 1/UNIT, so that sums do not depend on their order

# Passages that two or more submissions have, sorted, and their weights: UNIT for two, down towards 1 if all have it.
Rarity = tuple[Array, Array]


@dataclass(frozen=True)
class Match:
    """What two submissions share in one file.

    Attributes:
        lengths: For each submission, how many characters are its own: not in known code.
        shared: For each submission, how many of its own characters the other one has, too.
        distinctive: Shared characters, each weighted by how few other submissions have it; at most ``min(shared)``.
    """

    file: str
    lengths: tuple[int, int]
    shared: tuple[int, int]
    distinctive: float

    @property
    def shares(self) -> tuple[float, float]:
        """For each submission, the part of its own characters that the other has, too."""
        first, second = (shared / length for shared, length in zip(self.shared, self.lengths, strict=True))
        return first, second

    @property
    def short(self) -> bool:
        """Whether one of the two has too few characters of its own for a share to mean anything."""
        return min(self.lengths) < SHORT

    @property
    def strength(self) -> float:
        """Pairs are ranked by this: distinctive characters times the larger share; 0 if either file is too short."""
        return 0.0 if self.short else self.distinctive * max(self.shares)


@dataclass(frozen=True)
class Pair:
    """Two submissions, with a match for each file in which both have something of their own."""

    first: Work
    second: Work
    matches: tuple[Match, ...]

    @cached_property
    def whole(self) -> Match:
        """The match of all files together."""
        first, second, here, there = map(sum, zip(*((*m.lengths, *m.shared) for m in self.matches), strict=True))
        return Match(EVERYTHING, (first, second), (here, there), sum(match.distinctive for match in self.matches))

    @cached_property
    def strongest(self) -> Match:
        """The match with the strongest evidence: one file, or all files together."""
        return max((self.whole, *self.matches), key=lambda match: match.strength)


@dataclass(frozen=True)
class Findings:
    """What a person should look at, the strongest evidence first.

    Attributes:
        works: The submissions that were compared.
        groups: For each group of three or more similar submissions, their ids.
        near: Files of which nearly all is in a known answer.
        library: Ids of submissions, each with the first place in a file where a library may do what a task asks for.
        notices: Ids of submissions, each with what could not be compared.
    """

    works: Sequence[Work]
    pairs: Sequence[Pair]
    groups: Sequence[Sequence[str]]
    near: Sequence[Near]
    library: Sequence[tuple[str, Finding]]
    notices: Sequence[tuple[str, Message]]


def compared(works: Sequence[Work]) -> Findings:
    """Compare all pairs of submissions that have no student in common."""
    pairs = rank(works)
    near = sorted((near for work in works for near in work.near), key=lambda near: (-near.share, near.id, near.file))
    notices = [(work.id, notice) for work in works for notice in work.notices]
    apart = say("not compared with each other.")
    same = ((a, b) for a, b in itertools.combinations(works, 2) if a.people & b.people)
    notices += [(a.id, say("same student as {called}", called=b.id).then(apart)) for a, b in same]
    return Findings(
        works=[work for work in works if work.pieces],
        pairs=pairs,
        groups=groups(pairs),
        near=near,
        library=[(work.id, use) for work in works for use in first_of_each(work.library)],
        notices=notices,
    )


def rank(works: Sequence[Work]) -> list[Pair]:
    """Every pair worth listing, the strongest first."""
    files = sorted({path for work in works for path in work.pieces})
    rarity = {path: _rarity([work.pieces[path] for work in works if path in work.pieces]) for path in files}
    pairs = []
    for first, second in _candidates(works, rarity):
        both = [path for path in first.pieces if path in second.pieces]
        matches = (_match(path, first.pieces[path], second.pieces[path], rarity[path]) for path in both)
        pairs.append(Pair(first, second, tuple(match for match in matches if all(match.lengths))))
    listed = [
        pair for pair in pairs if pair.matches and pair.strongest.strength and pair.strongest.distinctive >= WORTH
    ]
    return sorted(listed, key=lambda pair: (-pair.strongest.strength, pair.first.id, pair.second.id))


def groups(pairs: Iterable[Pair]) -> list[list[str]]:
    """Groups of three or more submissions, as ids, linked by pairs that share nearly all of a file; largest first."""
    group_of: dict[str, set[str]] = {}
    for pair in pairs:
        if min(pair.strongest.shares) >= LINKED and pair.strongest.distinctive >= SHORT:
            ids = (pair.first.id, pair.second.id)
            joined = set(ids).union(*(group_of.get(one, set()) for one in ids))
            group_of.update(dict.fromkeys(joined, joined))
    found = {tuple(sorted(group)) for group in group_of.values() if len(group) > 2}
    return [list(group) for group in sorted(found, key=lambda group: (-len(group), group))]


def _rarity(pieces: Sequence[Piece]) -> Rarity:
    """The weights of passages, which depend on how many of the pieces have each passage."""
    passages, holders = np.unique(np.concatenate([piece.telling for piece in pieces]), return_counts=True)
    passages, holders = passages[holders > 1], holders[holders > 1]
    weights = np.log((len(pieces) + 1) / holders) / np.log((len(pieces) + 1) / 2)
    return passages, np.maximum(np.rint(UNIT * weights), 1).astype(np.int64)


def _candidates(works: Sequence[Work], rarity: Mapping[str, Rarity]) -> list[tuple[Work, Work]]:
    """The pairs with the largest weight of shared passages, in one file or in all files together."""
    upper = np.triu_indices(len(works), 1)
    total = np.zeros(len(upper[0]))
    chosen: set[int] = set()
    for path, weights in rarity.items():
        scores = _shared([work.pieces[path].telling if path in work.pieces else NOTHING for work in works], weights)
        total += scores[upper]
        chosen |= _largest(scores[upper])
    chosen |= _largest(total)
    pairs = ((works[int(upper[0][place])], works[int(upper[1][place])]) for place in sorted(chosen))
    return [(first, second) for first, second in pairs if not first.people & second.people]


def _shared(telling: Sequence[Array], rarity: Rarity) -> Array:
    """The weight that each two submissions share, float64, ``[n, n]``; exact, since all weights are whole numbers."""
    scores = np.zeros((len(telling), len(telling)))
    for start in range(0, len(rarity[0]), CHUNK):
        passages, weights = (each[start : start + CHUNK] for each in rarity)
        has = np.stack([np.isin(passages, piece, assume_unique=True) for piece in telling]).astype(np.float64)
        scores += (has * weights) @ has.T
    return scores


def _largest(scores: Array) -> set[int]:
    order = np.argsort(-scores, kind="stable")[:MAX_PAIRS]
    return {int(place) for place in order if scores[place] > 0}


def _match(path: str, first: Piece, second: Piece, rarity: Rarity) -> Match:
    common = np.intersect1d(first.telling, second.telling, assume_unique=True)
    weights = [_weights(piece, common, rarity) for piece in (first, second)]
    shared = int((weights[0] > 0).sum()), int((weights[1] > 0).sum())
    return Match(path, (first.length, second.length), shared, min(int(each.sum()) for each in weights) / UNIT)


def _weights(piece: Piece, common: Array, rarity: Rarity) -> Array:
    """The weight of each reduced character that is the submission's own and shared; 0 for all other characters."""
    places = np.flatnonzero(np.isin(piece.code.passages, common))
    weights = np.zeros(len(piece.code.passages), dtype=np.int64)
    weights[places] = rarity[1][np.searchsorted(rarity[0], piece.code.passages[places])]
    return piece.code.spread(weights) * piece.own
