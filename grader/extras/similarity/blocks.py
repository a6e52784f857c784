"""The lines that two submissions share, side by side, in the order of the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from .code import PASSAGE, Array
from .work import Piece

NEAR_LINES: Final = 3  # up to so many lines between two matches are shown; more are left out
MAX_LINES: Final = 150  # lines of a block that are shown, on each side
MAX_WIDTH: Final = 200  # characters of a line that are shown
GAP: Final = "⋯"


@dataclass(frozen=True)
class Line:
    """One line of a file; ``number`` is None where lines are left out."""

    number: int | None
    text: str
    matching: bool = False


@dataclass(frozen=True)
class Block:
    """Lines of the first file, and the lines of the second file that match them."""

    first: tuple[Line, ...]
    second: tuple[Line, ...]


_Run = tuple[frozenset[int], frozenset[int]]  # the numbers of matching lines in both files, counted from 0


def blocks(first: Piece, second: Piece) -> list[Block]:
    """The matching lines of both files, without what was given to all students."""
    runs: list[_Run] = []
    for here, there in _runs(first, second):
        if runs and _follows(runs[-1][0], here) and _follows(runs[-1][1], there):
            before = runs.pop()
            here, there = before[0] | here, before[1] | there
        runs.append((here, there))
    return [Block(_shown(first, here), _shown(second, there)) for here, there in runs]


def _runs(first: Piece, second: Piece) -> Iterator[_Run]:
    """Runs of shared passages: each passage follows the one before it in both files."""
    common = np.intersect1d(first.telling, second.telling, assume_unique=True)
    here_all, there_all = first.code.passages.tolist(), second.code.passages.tolist()
    earliest = {passage: place for place, passage in reversed([*enumerate(there_all)])}
    begin = end = (0, 0)
    for here in np.flatnonzero(np.isin(first.code.passages, common)).tolist():
        passage = here_all[here]
        if end[0] != here or there_all[end[1] : end[1] + 1] != [passage]:
            yield from _run(first, second, begin, end)
            begin = end = (here, earliest[passage])
        end = (end[0] + 1, end[1] + 1)
    yield from _run(first, second, begin, end)


def _run(first: Piece, second: Piece, begin: tuple[int, int], end: tuple[int, int]) -> Iterator[_Run]:
    lines = [
        _own_lines(piece, start, stop + PASSAGE - 1)
        for piece, start, stop in zip((first, second), begin, end, strict=True)
        if start < stop
    ]
    if lines and all(lines):
        yield lines[0], lines[1]


def _own_lines(piece: Piece, start: int, stop: int) -> frozenset[int]:
    inside: Array = piece.code.lines[start:stop][piece.own[start:stop]]
    return frozenset(inside.tolist())


def _follows(before: frozenset[int], after: frozenset[int]) -> bool:
    """Whether the lines ``after`` begin within ``before`` or at most ``NEAR_LINES`` below it."""
    return min(before) <= min(after) <= max(before) + NEAR_LINES


def _shown(piece: Piece, matching: frozenset[int]) -> tuple[Line, ...]:
    """The matching lines, with at most ``NEAR_LINES`` lines between two of them, and at most ``MAX_LINES`` in all."""
    text = piece.code.text.split("\n")
    shown: list[Line] = []
    before = min(matching)
    for line in sorted(matching):
        between = range(before + 1, line)
        if len(between) > NEAR_LINES:
            shown.append(Line(None, GAP))
        else:
            shown += [Line(number + 1, _printable(text[number])) for number in between]
        shown.append(Line(line + 1, _printable(text[line]), matching=True))
        before = line
    return (*shown[:MAX_LINES], Line(None, GAP)) if len(shown) > MAX_LINES else tuple(shown)


def _printable(text: str) -> str:
    """The line without characters that could reverse or hide other text."""
    cut = f"{text[:MAX_WIDTH]}{GAP}" if len(text) > MAX_WIDTH else text
    return "".join(char if char.isprintable() else "\ufffd" for char in cut.expandtabs(4))
