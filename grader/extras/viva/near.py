"""Plausible values beside a right one, for calls that too few mistakes answer differently."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from .execution import Outcome

DTYPES = ("torch.float32", "torch.float16", "torch.float64", "torch.bfloat16", "torch.int64")
ERRORS = ("TypeError", "RuntimeError", "ValueError", "IndexError", "AttributeError")
SIZE = re.compile(r"torch\.Size\((\[.*\])\)")


def near(outcome: Outcome) -> Iterator[Outcome]:
    """Other outcomes of the same form."""
    if outcome.error:
        yield from (replace(outcome, error=name) for name in ERRORS)
    elif isinstance(outcome.value, Tensor):
        yield from (replace(outcome, value=value) for value in _tensors(outcome.value))
    else:
        yield from (replace(outcome, value=text) for text in _texts(outcome.value))


def near_kinds(held: str) -> Iterator[str]:
    """Other things that a line could hold, such as ``float32 [1, 2]``."""
    dtype, _, shape = held.partition(" ")
    if not shape:
        yield from _texts(held)
        return
    sizes = ast.literal_eval(shape)
    others = (
        [name for name in ("float32", "float16", "float64") if name != dtype]
        if "float" in dtype
        else ["float32", "bool"]
    )
    yield from (f"{dtype} {own}" for own in _shapes(sizes))
    yield from (f"{other} {own}" for own in (sizes, *_shapes(sizes)) for other in others)


def _tensors(value: Tensor) -> Iterator[Tensor]:
    yield -value
    yield value.flip(-1)
    yield torch.zeros_like(value)
    yield value * 2
    yield torch.ones_like(value)
    yield value.roll(1, 0) if value.dim() and len(value) > 1 else value + 1


def _texts(text: str) -> Iterator[str]:
    if text in DTYPES:
        yield from DTYPES
    elif size := SIZE.fullmatch(text):
        yield from (f"torch.Size({own})" for own in _shapes(ast.literal_eval(size[1])))
    else:
        try:
            yield from map(repr, _values(ast.literal_eval(text)))
        except (ValueError, SyntaxError):
            return


def _values(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value * 2, value + 1, value // 2, value - 1, value + 8)
        case tuple() if all(isinstance(item, bool) for item in value):
            yield from product((True, False), repeat=len(value))
        case tuple() if all(isinstance(item, int) for item in value):
            yield from permutations(value)
            yield from (tuple(item + step for item in value) for step in (1, 2))
        case [int(item)]:
            yield from ([item - 1], [item - 2], [item + 1], [])


def _shapes(sizes: list[int]) -> Iterator[list[int]]:
    if len(sizes) > 1:
        yield [*sizes[:-1], 1] if sizes[-1] != 1 else sizes[:-1]
        yield [*sizes[:-2], sizes[-1], sizes[-2]]
        yield [*sizes[:-2], sizes[-2] * sizes[-1]]
    yield [1, *sizes]
    yield sizes[1:]
    yield [size * 2 for size in sizes]
