"""Task 2: how rows and gradients are asked for, as rows of covering arrays."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, F32, Layout, across, plain
from grader.testing import integers


def rising(ids: Tensor) -> Tensor:
    """The same ids in order."""
    return ids.sort().values


def falling(ids: Tensor) -> Tensor:
    """The same ids in the opposite order."""
    return rising(ids).flip(0)


def alike(ids: Tensor) -> Tensor:
    """As many ids, all of them the first one."""
    return ids[:1].repeat(len(ids))


class Lookup(NamedTuple):
    """A call: a value of each axis. Every two values of two axes meet in some row of ``LOOKUPS``."""

    shape: tuple[int, int]  # of the ids: several or one of each
    size: tuple[int, int]  # (v, e), each small or large: v beyond 8 bits, signed or not, e beyond float16's integers
    order: Layout  # of the ids: mixed or not
    last: bool  # whether the last id of the table is among them
    frozen: bool  # whether the table requires no gradient
    training: bool

    def ids(self, seed: int) -> Tensor:
        """With the first of the table among them, and repeats."""
        count, rows = self.shape[0] * self.shape[1], self.size[0] - (not self.last)
        ids = integers(seed, "ids", rows, shape=(count,), low=0, high=rows)
        edges = torch.tensor([(rows - 1) * self.last, 0, rows - 1, 1])[:count]
        return self.order(torch.cat((edges, ids[len(edges) :]))).reshape(self.shape)


# The first has more ids than any block of them; one table is large both ways, which takes as long as all others.
# A student reads about the first that fails: one size of one at first.
LOOKUPS = (
    Lookup((3, 67), (7, 3), plain, last=True, frozen=False, training=True),
    Lookup((4, 9), (300, 2050), rising, last=False, frozen=True, training=False),
    Lookup((1, 6), (7, 2050), falling, last=False, frozen=True, training=True),
    Lookup((40, 1), (1000, 1), alike, last=True, frozen=True, training=False),
    Lookup((1, 67), (1000, 6), plain, last=True, frozen=False, training=False),
    Lookup((40, 1), (7, 2050), plain, last=False, frozen=False, training=True),
    Lookup((1, 1), (7, 2050), plain, last=True, frozen=True, training=False),
    Lookup((1, 1), (1000, 8), alike, last=False, frozen=False, training=True),
    Lookup((2, 3), (200, 1), plain, last=True, frozen=False, training=True),
)


class Sent(NamedTuple):
    """How a gradient is asked for: a value of each axis. Every two values of two axes meet in some row of ``SENT``."""

    dtype: torch.dtype
    ids: list[int]
    batch: int  # how many rows the ids come in, with the last id twice among them
    upstream: Layout
    training: bool
    between: bool  # whether a call comes between forward and backward


MANY = [*range(7)] * 10  # with the last id twice, more than a block of 32 in a row, or that many rows
SENT = (
    Sent(F32, [0, 0, 0, 4, 3, 5], 2, plain, training=True, between=False),
    Sent(F32, MANY, 2, across, training=True, between=True),
    Sent(F32, MANY, 36, across, training=False, between=True),
    Sent(F16, [1, 2, 2, 1], 2, plain, training=True, between=False),
    Sent(F16, MANY, 2, plain, training=False, between=True),
    Sent(F16, MANY, 36, across, training=True, between=True),
    Sent(BF16, [6, 3, 6, 6, 0, 3], 2, across, training=False, between=True),
    Sent(BF16, MANY, 2, across, training=False, between=False),
    Sent(BF16, MANY, 36, plain, training=True, between=False),
)
