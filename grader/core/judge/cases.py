"""Values that a judge computes only once, since they depend on the seed alone: inputs and results of pure functions."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from grader.core.messages import Message

MOST_KEPT = 1024  # results of one function; all cases together need fewer
MOST_BYTES = 1 << 17  # of a tensor among the arguments: larger ones are not looked up

P = ParamSpec("P")
R = TypeVar("R", Tensor, tuple[Tensor, ...], tuple[Message, ...])


def kept(function: Callable[P, R]) -> Callable[P, R]:
    """A pure function that computes each result once in a judge; each caller gets a copy of its own.

    Arguments are tensors, told apart by their numbers, and whatever can be hashed. With a tensor that requires a
    gradient, that is large, or that is not on the CPU, the function is called as it is.
    """
    results: dict[Hashable, R] = {}

    @wraps(function)
    def copied(*args: P.args, **kwargs: P.kwargs) -> R:
        parts: list[Any] = [len(args), *kwargs]
        for value in (*args, *kwargs.values()):
            if not isinstance(value, Tensor):
                parts += (type(value), value)  # with its type, since 1 and True are equal
            elif value.nbytes > MOST_BYTES or value.requires_grad or not value.is_cpu:
                return function(*args, **kwargs)
            else:
                parts += identity(value)
        key: Hashable = tuple(parts)
        if key not in results:
            if len(results) == MOST_KEPT:
                results.clear()
            results[key] = function(*args, **kwargs)
        result = results[key]
        if isinstance(result, Tensor):
            return result.clone()
        return tuple(part.clone() if isinstance(part, Tensor) else part for part in result)

    return copied


def identity(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    """A key that is equal for tensors with the same numbers, bit for bit, whatever their layout in memory."""
    there = tensor.cpu().contiguous()
    return there.dtype, there.shape, ctypes.string_at(there.data_ptr(), there.nbytes)


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
