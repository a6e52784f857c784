"""Results that a judge computes once: what follows from the seed alone is the same for every submission."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

MOST_KEPT = 1024  # results of one function; all cases together need fewer
MOST_BYTES = 1 << 17  # of a tensor among the arguments: larger ones are not looked up

P = ParamSpec("P")
R = TypeVar("R", Tensor, tuple[Tensor, ...])


def kept(function: Callable[P, R]) -> Callable[P, R]:
    """A pure function that computes each result once in a judge; each caller gets a copy of its own.

    Arguments are tensors, told apart by their numbers, and whatever can be hashed. With a tensor that requires a
    gradient, that is large, or that is not on the CPU, the function is called as it is.
    """
    results: OrderedDict[Hashable, R] = OrderedDict()

    @wraps(function)
    def copied(*args: P.args, **kwargs: P.kwargs) -> R:
        given: tuple[object, ...] = (*args, *kwargs.values())
        if not all(map(_can_be_told_apart, given)):
            return function(*args, **kwargs)
        key: Hashable = (len(args), tuple(kwargs), tuple(map(_told_apart, given)))
        result = results.get(key)
        if result is None:
            result = results[key] = function(*args, **kwargs)
            if len(results) > MOST_KEPT:
                results.popitem(last=False)
        else:
            results.move_to_end(key)
        return result.clone() if isinstance(result, Tensor) else tuple(map(Tensor.clone, result))

    return copied


def _can_be_told_apart(value: Any) -> bool:
    if not isinstance(value, Tensor):
        return True
    return value.nbytes <= MOST_BYTES and not value.requires_grad and value.device.type == "cpu"


def _told_apart(value: Any) -> Hashable:
    """What differs between two arguments; for other values with their type, since 1 and True are equal."""
    return identity(value) if isinstance(value, Tensor) else (type(value), value)


def identity(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    """What is equal for two tensors with the same numbers, bit for bit, however they lie in memory."""
    there = tensor.cpu().contiguous()
    return there.dtype, there.shape, ctypes.string_at(there.data_ptr(), there.nbytes)
