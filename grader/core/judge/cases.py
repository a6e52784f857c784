"""Helpers that hidden tests share: seeded inputs, and parametrisation over dtypes with readable names."""

from __future__ import annotations

import zlib

import pytest
import torch
from torch import Tensor

from .compare import DTYPES, name
from .kept import kept

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=name)


def generator(seed: int, *key: object) -> torch.Generator:
    """A CPU generator that depends on the run's seed and on a key, the same in every process."""
    return torch.Generator().manual_seed(zlib.crc32(repr((seed, *map(str, key))).encode()))


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
