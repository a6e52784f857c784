"""Inspects a file of weights (safetensors): the texts in its header, and that the rest is numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch

from .fingerprints import strings

DTYPES = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32}
_TEXT = re.compile(rb"[\t\n\x20-\x7e]{24,}")  # no weights look like that by chance


class Opaque(Exception):
    """The file contains bytes of unknown meaning."""


def texts(data: bytes) -> list[str]:
    """Every text in the header.

    Raises:
        Opaque: If it is no safetensors file, holds more than the tensors that its header names, or numbers that spell
            a text.
    """
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        spans = sorted(tuple(entry["data_offsets"]) for entry in entries)
        gaps = any(before[1] != after[0] for before, after in pairwise([(0, 0), *spans, (len(data) - start, 0)]))
        if gaps or _TEXT.search(data, start) or any(_spells(data[start:], entry) for entry in entries):
            raise Opaque
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        raise Opaque from None
    return [*strings(header)]


def _spells(data: bytes, entry: Mapping[str, Any]) -> bool:
    """Whether each number of a tensor is the number of a letter."""
    first, last = entry["data_offsets"]
    numbers = torch.frombuffer(bytearray(data[first:last]), dtype=DTYPES[entry["dtype"]]).double()
    if len(numbers) != math.prod(entry["shape"]):
        raise Opaque
    return bool(((numbers == numbers.round()) & (numbers >= ord("\t")) & (numbers <= ord("~"))).all())
