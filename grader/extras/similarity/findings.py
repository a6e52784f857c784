"""Compares all submissions of a class, and lists the ranked pairs as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.core.messages import Message, say

from .library import Finding
from .pairs import Match, Pair, groups, rank, same_people
from .wording import FILES
from .work import SHORT, Near, Work

COLUMNS = (
    *("rank", "first", "second", "file", "strongest", "distinctive", "first_shared", "second_shared"),
    *("first_length", "second_length", "first_share", "second_share", "remark"),
)


@dataclass(frozen=True)
class Findings:
    """What a person should look at, the strongest evidence first.

    Attributes:
        works: The submissions that were compared.
        groups: For each group of three or more similar submissions, their ids.
        near: Files of which nearly all is in a known answer.
        library: Ids of submissions, each with a place where a library may do what a task asks for.
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
    notices += [(a.id, say("same student as {called}", called=b.id).then(apart)) for a, b in same_people(works)]
    return Findings(
        works=[work for work in works if work.pieces],
        pairs=pairs,
        groups=groups(pairs),
        near=near,
        library=[(work.id, use) for work in works for use in work.library],
        notices=notices,
    )


def listing(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each pair and each of its files, the strongest pair first."""
    yield COLUMNS
    for number, pair in enumerate(pairs, 1):
        for match in (pair.whole, *pair.matches):
            strongest = "yes" if match is pair.strongest else ""
            yield (
                f"{number}",
                pair.first.id,
                pair.second.id,
                FILES.get(match.file, match.file),
                strongest,
                *_cells(match),
            )


def _cells(match: Match) -> tuple[str, ...]:
    numbers = (*match.shared, *match.lengths)
    shares = ("", "") if match.short else tuple(f"{share:.3f}" for share in match.shares)
    remark = f"too short to tell: one has fewer than {SHORT} characters of own code" if match.short else ""
    return (f"{match.distinctive:.1f}", *map(str, numbers), *shares, remark)
