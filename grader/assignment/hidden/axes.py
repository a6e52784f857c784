"""What cases vary: dtypes, and how tensors lie in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

from grader.testing import DTYPES, name

F32, F16, BF16 = DTYPES
NARROW = pytest.mark.parametrize("dtype", DTYPES[1:], ids=name)
Layout = Callable[[Tensor], Tensor]  # gives the same numbers, in another order in memory


def in_turns(axis: str, values: str, **named: Any) -> pytest.MarkDecorator:
    """Cases for each of these values in each dtype, in which ``axis`` is false and true by turns.

    So every two values of any two of the three axes meet in some case, in half as many cases.
    """
    chosen = [*itertools.product(named, DTYPES)]
    place = [[*named].index(key) + DTYPES.index(dtype) for key, dtype in chosen]
    cases = [(named[key], dtype, odd % 2 == 1) for (key, dtype), odd in zip(chosen, place, strict=True)]
    ids = [f"{key}-{name(dtype)}" + "-again" * case[2] for (key, dtype), case in zip(chosen, cases, strict=True)]
    return pytest.mark.parametrize((values, "dtype", axis), cases, ids=ids)


def plain(x: Tensor) -> Tensor:
    """The numbers as they are."""
    return x


def across(x: Tensor) -> Tensor:
    """``[b, s, ...]`` numbers with the next dimension outside ``s`` in memory, as before ``x.transpose(1, 2)``."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def transposed(x: Tensor) -> Tensor:
    """``[b, s, ...]`` numbers with ``s`` outside ``b`` in memory; a matrix lies there column by column."""
    return x.transpose(0, 1).contiguous().transpose(0, 1)


def strided(x: Tensor) -> Tensor:
    """The same numbers, each the first of two in memory."""
    return x.repeat_interleave(2, dim=-1)[..., ::2]
