"""The ranked list as a table: a row for each file of each pair, and one for all files together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .pairs import Match, Pair
from .wording import FILES
from .work import SHORT

COLUMNS = (
    *("rank", "first", "second", "file", "strongest", "distinctive", "first_shared", "second_shared"),
    *("first_length", "second_length", "first_share", "second_share", "remark"),
)


def listing(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """The header, then the rows, the strongest pair first."""
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
    remark = f"too short to tell: fewer than {SHORT} characters of somebody's own" if match.short else ""
    return (f"{match.distinctive:.1f}", *map(str, numbers), *shares, remark)
