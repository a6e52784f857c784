"""The findings as one HTML page that loads no other file, shared lines side by side, and all pairs as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from grader.core.assignment import Assignment
from grader.core.intake.origin import clean
from grader.core.pages.render import prepared, templates
from grader.core.results.views import in_words

from .pairs import Findings, Pair
from .work import PASSAGE, SHORT, WORDS, Piece, named

HERE: Final = Path(__file__).parent

NEAR_LINES: Final = 3  # up to so many lines between two matches are shown; more are left out
MAX_LINES: Final = 150  # lines of a block that are shown, on each side
MAX_WIDTH: Final = 200  # characters of a line that are shown
GAP: Final = "⋯"
COLUMNS = (
    *("rank", "first", "second", "file", "strongest", "distinctive", "first_shared", "second_shared"),
    *("first_length", "second_length", "first_share", "second_share", "remark"),
)


def page(findings: Findings, assignment: Assignment, answers: Sequence[str], top: int, language: str) -> str:
    """Render the page with so many pairs at the ``top``; all text from submissions is escaped.

    ``answers`` names the known answers that were left out of the comparison, as the stubs were.
    """
    words = {key: texts[language] for key, texts in WORDS.texts.items()}
    environment = prepared(templates(HERE), assignment.rubric, language)
    environment.filters |= {
        "said": lambda message: in_words(message, assignment, language),
        "percent": "{:.0%}".format,
        "clean": clean,
        "file": lambda path: words.get(path) or path.rpartition("/")[2],
    }
    return environment.get_template("page.html.j2").render(
        w=words,
        findings=findings,
        tasks={task.id: task.title for task in assignment.rubric.tasks},
        answers=", ".join(answers),
        sides=[
            (pair, [(one, blocks(pair.first.pieces[one.file], pair.second.pieces[one.file])) for one in pair.matches])
            for pair in findings.pairs[:top]
        ],
        most=max((pair.strongest.strength for pair in findings.pairs), default=1),
        passage=PASSAGE,
        short=SHORT,
    )


def listing(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each pair and each of its files, the strongest pair first."""
    yield COLUMNS
    too_short = f"too short to tell: one has fewer than {SHORT} characters of own code"
    for number, pair in enumerate(pairs, 1):
        for match in (pair.whole, *pair.matches):
            strongest = "yes" if match is pair.strongest else ""
            names = (f"{number}", pair.first.id, pair.second.id, named(match.file), strongest)
            numbers = (f"{match.distinctive:.1f}", *map(str, (*match.shared, *match.lengths)))
            shares = ("", "") if match.short else tuple(f"{share:.3f}" for share in match.shares)
            yield (*names, *numbers, *shares, too_short if match.short else "")


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
    runs: list[tuple[int, int, int]] = []  # where it begins in both files, and how many passages it has
    for here in np.flatnonzero(np.isin(first.code.passages, common)).tolist():
        begin, there, length = runs[-1] if runs else (-1, -1, 0)
        if begin + length == here and there_all[there + length : there + length + 1] == [here_all[here]]:
            runs[-1] = (begin, there, length + 1)
        else:
            runs.append((here, earliest[here_all[here]], 1))
    for here, there, length in runs:
        lines = _own_lines(first, here, length), _own_lines(second, there, length)
        if all(lines):
            yield lines


def _own_lines(piece: Piece, start: int, passages: int) -> frozenset[int]:
    run = slice(start, start + passages + PASSAGE - 1)
    return frozenset(piece.code.lines[run][piece.own[run]].tolist())


def _follows(before: frozenset[int], after: frozenset[int]) -> bool:
    """Whether the lines ``after`` begin within ``before`` or at most ``NEAR_LINES`` below it."""
    return min(before) <= min(after) <= max(before) + NEAR_LINES


def _shown(piece: Piece, matching: frozenset[int]) -> tuple[Line, ...]:
    """The matching lines, with at most ``NEAR_LINES`` lines between two of them, and at most ``MAX_LINES`` in all."""
    text = piece.code.text.expandtabs(4).split("\n")
    shown: list[Line] = []
    before = min(matching)
    for line in sorted(matching):
        between = range(before + 1, line)
        if len(between) > NEAR_LINES:
            shown.append(Line(None, GAP))
        else:
            shown += [Line(number + 1, _cut(text[number])) for number in between]
        shown.append(Line(line + 1, _cut(text[line]), matching=True))
        before = line
    return (*shown[:MAX_LINES], Line(None, GAP)) if len(shown) > MAX_LINES else tuple(shown)


def _cut(text: str) -> str:
    return f"{text[:MAX_WIDTH]}{GAP}" if len(text) > MAX_WIDTH else text
