"""Reads GGUF, the file format of llama.cpp: a header, facts about the model by name, and quantised tensors.

Written out here rather than taken from the package ``gguf``, which would bring NumPy and three more packages along.

Source:
    https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3; blocks as in ggml-common.h.
"""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

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
