"""Reduces source text with Pygments: comments and spaces are removed, each name and each string is one letter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pygments.lexers import PythonLexer
from pygments.token import Comment, Name, String, Text

PASSAGE: Final = 25  # so many characters in a row must agree before they count, about two short statements
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
    reduced, places = "", list[int]()
    for place, kind, value in PythonLexer().get_tokens_unprocessed(text):
        letters = _letters(kind, value)
        reduced += letters
        places += range(place, place + len(letters))
    passages = [hash(reduced[start : start + PASSAGE]) for start in range(len(reduced) - PASSAGE + 1)]
    ends_of_lines = [place for place, character in enumerate(text) if character == "\n"]
    lines = np.searchsorted(np.array(ends_of_lines, dtype=np.int64), np.array(places, dtype=np.int64))
    return Code(text, np.array(passages, dtype=np.int64), lines)


def _letters(kind: tuple[str, ...], value: str) -> str:
    """What is left of a token; names that Python itself gives are kept, since nobody can change them."""
    if kind in Text or kind in Comment:
        return ""
    if kind in Name and kind not in Name.Builtin:
        return "V"
    return "S" if kind in String else value
