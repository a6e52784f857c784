"""Helpers that hidden tests share: seeded inputs, and parametrisation over dtypes with readable names."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec

import pytest
import torch
from torch import Tensor

from .compare import DTYPES, name

MOST_KEPT = 1024  # tensors of one function; the inputs of all cases are fewer

P = ParamSpec("P")

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)


def generator(seed: int, *key: object) -> torch.Generator:
    """A CPU generator that depends on the run's seed and on a key, the same in every process."""
    return torch.Generator().manual_seed(zlib.crc32(repr((seed, *map(str, key))).encode()))


def kept(function: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """A function of numbers and texts that computes each tensor once in a judge; each caller gets a copy of its own."""
    once = lru_cache(MOST_KEPT, typed=True)(function)  # typed, since 1 and True are equal and give different numbers

    @wraps(function)
    def copied(*args: P.args, **kwargs: P.kwargs) -> Tensor:
        return once(*args, **kwargs).clone()  # type: ignore[arg-type] # all arguments can be hashed

    return copied


@kept
def normal(seed: int, *key: object, shape: tuple[int, ...]) -> Tensor:
    """Standard normal numbers, float32: random values in 16-bit types differ between torch versions."""
    return torch.randn(shape, generator=generator(seed, *key))


@kept
def uniform(seed: int, *key: object, shape: tuple[int, ...], low: float, high: float) -> Tensor:
    """Uniform numbers in ``[low, high)``, float32."""
    return torch.rand(shape, generator=generator(seed, *key)) * (high - low) + low


@kept
def integers(seed: int, *key: object, shape: tuple[int, ...], low: int, high: int) -> Tensor:
    """Uniform integers in ``low .. high - 1``, int64."""
    return torch.randint(low, high, shape, generator=generator(seed, *key))


@kept
def signs(seed: int, *key: object, shape: tuple[int, ...]) -> Tensor:
    """Random signs, float32."""
    return integers(seed, *key, shape=shape, low=0, high=2).float() * 2 - 1
