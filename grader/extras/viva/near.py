"""Plausible values beside a right one, for calls that too few mistakes answer differently."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch

from .execution import Outcome

DTYPES = ("float32", "float16", "float64", "bfloat16", "int64")
ERRORS = ("TypeError", "RuntimeError", "ValueError", "IndexError", "AttributeError")


def near(outcome: Outcome) -> Iterator[Outcome]:
    """Other outcomes of the same form."""
    value = outcome.value
    if value is None:
        yield from (replace(outcome, error=name) for name in ERRORS)
    elif isinstance(value, torch.Tensor):
        every = (-value, value.flip(-1), torch.zeros_like(value), value * 2, torch.ones_like(value))
        yield from (replace(outcome, value=other) for other in every)
    elif size := re.fullmatch(r"torch\.Size\((.*)\)", value):
        yield from (replace(outcome, value=f"torch.Size({other})") for other in _shapes(ast.literal_eval(size[1])))
    elif value.startswith("torch."):
        yield from (replace(outcome, value=f"torch.{name}") for name in DTYPES)
    elif re.fullmatch(r"[\[(]?(?:True|False|-?\d+)(?:, (?:True|False|-?\d+))*[\])]?", value):
        yield from (replace(outcome, value=repr(other)) for other in _values(ast.literal_eval(value)))


def _values(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value * 2, value + 1, value // 2, value - 1, value + 8)
        case tuple() if all(isinstance(item, bool) for item in value):
            yield from product((True, False), repeat=len(value))
        case (int(first), *rest):
            every = ([first - 1, *rest], [first + 1, *rest], [first + 2, *rest], [*rest, first], [first, *rest[:-1], 0])
            yield from map(type(value), every)


def _shapes(sizes: list[int]) -> Iterator[list[int]]:
    if len(sizes) > 1:
        yield [*sizes[:-1], 1] if sizes[-1] != 1 else sizes[:-1]
        yield [*sizes[:-2], sizes[-1], sizes[-2]]
        yield [*sizes[:-2], sizes[-2] * sizes[-1]]
    yield from ([1, *sizes], sizes[1:], [size * 2 for size in sizes])
