"""From text to the ids of a model's tokens and back: byte-level BPE, as GPT-2 does it, from what a GGUF file lists.

Source:
    Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909; the bytes and the
    pieces as in https://github.com/openai/gpt-2/blob/master/src/encoder.py, with each digit a piece of its own.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

_DIGIT = r"\d²³¹¼½¾"
PIECES = re.compile(rf"'(?:[sdmt]|ll|ve|re)|[{_DIGIT}]| ?[^\W{_DIGIT}_]+| ?(?:[^\s\w]|_)+|\s+(?![^\s{_DIGIT}])|\s+")
_SHOWN = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_HIDDEN = [byte for byte in range(256) if byte not in _SHOWN]
LETTERS = dict(zip((*_SHOWN, *_HIDDEN), map(chr, (*_SHOWN, *range(256, 256 + len(_HIDDEN)))), strict=True))
BYTES = {letter: byte for byte, letter in LETTERS.items()}


class Tokenizer:
    """Splits text into tokens.

    Args:
        tokens: Each token, at the place of its id; every byte is written as one letter.
        merges: Pairs of tokens, ``"left right"``, that become one; the earlier ones first.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str]) -> None:
        """Number the tokens and the merges."""
        self._tokens = tokens
        self.ids = {token: place for place, token in enumerate(tokens)}
        self._ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self._merged = lru_cache(4096)(self._merged)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; names of special tokens in it are ordinary letters."""
        pieces = (piece.encode("utf-8") for piece in PIECES.findall(text))
        return [self.ids[token] for piece in pieces for token in self._merged("".join(LETTERS[byte] for byte in piece))]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; a character that is cut off becomes U+FFFD."""
        return self._bytes_of(ids).decode("utf-8", errors="replace")

    def spoken(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of ids as they come, each character as soon as its last byte is there."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for one in ids:
            yield decoder.decode(self._bytes_of([one]))
        yield decoder.decode(b"", final=True)

    def _bytes_of(self, ids: Iterable[int]) -> bytes:
        return bytes(BYTES[letter] for one in ids for letter in self._tokens[one])

    def _merged(self, piece: str) -> tuple[str, ...]:
        """The tokens of one piece: of all pairs, the one that comes first among the merges becomes one, and again."""
        parts = list(piece)
        while len(parts) > 1:
            pairs = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(parts)]
            if (best := min(pairs)) == len(self._ranks):
                break
            place = pairs.index(best)
            parts[place : place + 2] = ["".join(parts[place : place + 2])]
        return tuple(parts)
