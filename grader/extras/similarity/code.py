"""Reduces source text with copydetect: comments and spaces are removed, each name and each string is one letter."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from copydetect import CodeFingerprint
from numpy.typing import NDArray

# So many characters in a row must agree before they count, about two short statements: copydetect's own default.
PASSAGE: Final = 25
MAX_CHARACTERS: Final = 100_000  # of source text; an honest file has less than a tenth of that
REMEMBERED: Final = 512  # texts; many students hand in the same stubs

Array = NDArray[Any]
NOTHING: Final[Array] = np.zeros(0, dtype=np.int64)


class TooLong(Exception):
    """A text too long to have been written by hand."""

    def __init__(self, characters: int) -> None:
        """Keep the length of the text."""
        super().__init__(f"{characters} characters; at most {MAX_CHARACTERS} are compared")
        self.characters = characters


@dataclass(frozen=True, eq=False)
class Code:
    """One text and its passages: every ``PASSAGE`` consecutive characters of the reduced text.

    Attributes:
        text: The text as handed in.
        passages: A hash of each passage, int64, ``[n]``; hashes differ from process to process.
        lines: The line of ``text``, from 0, that each reduced character comes from, int64, ``[n + PASSAGE - 1]``.
    """

    text: str
    passages: Array
    lines: Array

    def marked(self, passages: Array) -> Array:
        """Which reduced characters lie in one of the given passages: bool, shaped as ``lines``."""
        return self.spread(np.isin(self.passages, passages).astype(np.int64)) > 0

    def spread(self, weights: Array) -> Array:
        """The largest weight of a passage around each reduced character: from ``[n]`` to the shape of ``lines``."""
        spread = np.zeros(len(self.lines), dtype=np.int64)
        for offset in range(PASSAGE if len(weights) else 0):
            window = spread[offset : offset + len(weights)]
            np.maximum(window, weights, out=window)
        return spread


@lru_cache(REMEMBERED)
def read_code(text: str) -> Code:
    """Reduce a text; it need not be Python that compiles. The same text gives the same object.

    Raises:
        TooLong: If it has more than ``MAX_CHARACTERS``.
    """
    if len(text) > MAX_CHARACTERS:
        raise TooLong(len(text))
    # win_size=1 keeps every passage. A larger window keeps those with the smallest hashes, which differ between runs.
    found = CodeFingerprint("text.py", PASSAGE, 1, language="python", fp=io.StringIO(text))
    passages = np.zeros(max(len(found.filtered_code) - PASSAGE + 1, 0), dtype=np.int64)
    for value, places in found.hash_idx.items():
        passages[places] = value
    return Code(text, passages, _lines(text, len(found.filtered_code), found.offsets))


def _lines(text: str, length: int, offsets: Array) -> Array:
    """The line of each reduced character, found from how many characters were removed before it."""
    places = np.arange(length)
    ends, removed = offsets[:, 0], np.maximum.accumulate(offsets[:, 1])  # copydetect 0.5.0 counts too few at a class
    before = removed[np.clip(np.searchsorted(ends, places), 0, len(ends) - 1)]
    dropped = len(text) - len(text.lstrip("\n"))  # the lexer drops leading empty lines without counting them
    ends_of_lines = np.cumsum([len(line) + 1 for line in text.split("\n")])
    lines: Array = np.searchsorted(ends_of_lines, places + before + dropped, side="right")
    return lines
