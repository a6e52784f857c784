"""Requests whose answers show how a submission behaves, and how far the answers of two right ones may differ.

An assignment declares them as ``PROBES`` in ``corpus/probes.py``: for each name of the rubric, a function that takes a
second device, or None, and gives probes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.core.sandbox.handle import Operation

__all__ = ["Operation", "Probe", "Probes"]


@dataclass(frozen=True)
class Probe:
    """A request, and how far two answers may differ.

    Attributes:
        operations: What a worker does; the last gives the answer.
        scale: What rounding is relative to: the ``value``, the length of its ``pair``, ``all``; none if ``exact``.
        dtypes: Those that take part; the coarsest gives the ulp.
        angles: For rotations, ``[s, hd / 2]``: the larger an angle, the more its rounding.
        draws: Other values that a drawn parameter may have.
        sizes: What the message of a refusal names.
    """

    operations: Sequence[Operation]
    scale: str = "value"
    dtypes: tuple[torch.dtype, ...] = ()
    angles: Tensor | None = None
    draws: tuple[Tensor, ...] = ()
    sizes: tuple[int, ...] = ()


Probes = Mapping[str, Callable[[str | None], Iterator[Probe]]]
