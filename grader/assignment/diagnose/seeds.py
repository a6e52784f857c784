"""Mistakes in the order of seeding and drawing, and in the seed itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from ...judge.student import Student
from .fit import fits, only, parameter

SEED: Final = 20_240_607  # not the default of any module
LOW, HIGH = -0.5, 2.0
MEAN, STD = 0.25, 0.5
SIZE = (16, 8)  # a multiple of 16 elements: torch draws fewer normal numbers in another way
EARLIER_DRAWS: Final = 3

Draw = Callable[[Tensor, torch.Generator], Tensor]


def _uniform(out: Tensor, generator: torch.Generator) -> Tensor:
    return out.uniform_(LOW, HIGH, generator=generator)


def _normal(out: Tensor, generator: torch.Generator) -> Tensor:
    return out.normal_(MEAN, STD, generator=generator)


def _drawn_late(value: Tensor, draw: Draw, seed: int) -> bool:
    """Whether ``value`` is what the seed gives after one or more draws of the same size.

    Uniform and normal draws advance the generator by the same amount, so the kind of the earlier draws does not matter.
    """
    generator = torch.Generator().manual_seed(seed)
    draws = [draw(torch.empty(value.shape), generator) for _ in range(1 + EARLIER_DRAWS)]
    return any(fits(value, late) for late in draws[1:])


def of_norm(student: Student) -> str | None:
    """Compare gamma with later draws from the same seed."""
    module = student.GroupRMSNorm(hidden_size=64, group_size=8, init_range=(LOW, HIGH), init_seed=SEED)
    return "init_after_extra_draw" if _drawn_late(parameter(module, (64,)), _uniform, SEED) else None


def of_vocab(student: Student) -> str | None:
    """Compare the table with later draws from the same seed."""
    sizes = {"vocab_size": SIZE[0], "emb_size": SIZE[1]}
    module = student.VocabEmbedding(**sizes, init_mean=MEAN, init_std=STD, init_seed=SEED)
    return "init_after_extra_draw" if _drawn_late(parameter(module, SIZE), _normal, SEED) else None


def of_shard(student: Student) -> str | None:
    """Compare the ranks' rows with each other, and those of rank 0, whose seed is the base seed, with later draws."""
    world = 3
    sizes = {"vocab_size": SIZE[0] * world, "emb_size": SIZE[1], "world_size": world}
    options = {"init_mean": MEAN, "init_std": STD, "init_base_seed": SEED}
    shards = [parameter(student.ParallelVocabEmbedding(**sizes, **options, rank=rank), SIZE) for rank in range(world)]
    drawn = bool((shards[0] != shards[0][0, 0]).any())  # a table of zeros is the same on every rank, too
    mistakes = {
        "shard_seed_without_rank": drawn and all(torch.equal(shard, shards[0]) for shard in shards),
        "init_after_extra_draw": _drawn_late(shards[0], _normal, SEED),
    }
    return only(mistake for mistake, fitting in mistakes.items() if fitting)
