"""Everything that one comparison of a class has to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .library import Finding
from .pairs import Pair, groups, rank, same_people
from .work import Near, Work


@dataclass(frozen=True)
class Findings:
    """What a person should look at, the most telling first.

    Attributes:
        works: What was compared.
        groups: Ids of three or more submissions that hang together.
        near: Files that a known answer explains.
        library: Ids, and where a library may do what a task asks for.
        notices: Ids, and what was left out.
    """

    works: Sequence[Work]
    pairs: Sequence[Pair]
    groups: Sequence[Sequence[str]]
    near: Sequence[Near]
    library: Sequence[tuple[str, Finding]]
    notices: Sequence[tuple[str, str]]


def compared(works: Sequence[Work]) -> Findings:
    """Compare each submission with each other one of other students."""
    pairs = rank(works)
    near = sorted((near for work in works for near in work.near), key=lambda near: (-near.share, near.id, near.file))
    notices = [(work.id, notice) for work in works for notice in work.notices]
    notices += [(a.id, f"of the same student as {b.id}; the two were not compared.") for a, b in same_people(works)]
    return Findings(
        works=[work for work in works if work.pieces],
        pairs=pairs,
        groups=groups(pairs),
        near=near,
        library=[(work.id, use) for work in works for use in work.library],
        notices=notices,
    )
