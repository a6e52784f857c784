"""Mistakes in the order of seeding and drawing, and in the seed itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from grader.testing import Student

from .fit import fits, only, parameter

SEED: Final = 20_240_607  # not the default of any module
LOW, HIGH = -0.5, 2.0
MEAN, STD = 0.25, 0.5
SIZE = (16, 8)  # a multiple of 16 elements: torch draws fewer normal numbers in another way
EARLIER_DRAWS: Final = 3
SAME_NUMBERS: Final = 0.9999  # correlation: of two draws it is far lower

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


def _of(make: Callable[[int], Tensor], draw: Draw, other: Draw) -> str | None:
    """What is wrong about values that ``make`` gives for a seed, where ``draw`` is asked for."""
    first, again, otherwise = make(SEED), make(SEED), make(SEED + 1)
    if not bool((first != first.flatten()[0]).any()):
        return None  # nothing has been drawn
    if _drawn_late(first, draw, SEED):
        return "init_after_extra_draw"
    if not torch.equal(first, again):
        return "init_unseeded"
    if torch.equal(first, otherwise):
        return "init_seed_ignored"
    if any(fits(first, draw(torch.empty(first.shape), torch.Generator().manual_seed(SEED + off))) for off in (1, -1)):
        return "init_neighbouring_seed"
    right, another = (law(torch.empty(first.shape), torch.Generator().manual_seed(SEED)) for law in (draw, other))
    if fits(first, right, right.abs() + 1):
        return None
    if _along(first, right):
        return "init_other_scale"
    return "init_other_distribution" if _along(first, another) else None


def _along(value: Tensor, law: Tensor) -> bool:
    """Whether two tensors hold the same numbers, up to a factor and a shift."""
    both = torch.stack((value.flatten().double(), law.flatten().double()))
    return float(torch.corrcoef(both)[0, 1]) > SAME_NUMBERS


def of_norm(student: Student) -> str | None:
    """Look at gamma."""

    def gamma(seed: int) -> Tensor:
        module = student.GroupRMSNorm(hidden_size=64, group_size=8, init_range=(LOW, HIGH), init_seed=seed)
        return parameter(module, (64,))

    return _of(gamma, _uniform, _normal)


def of_vocab(student: Student) -> str | None:
    """Look at the table."""
    sizes = {"vocab_size": SIZE[0], "emb_size": SIZE[1]}

    def table(seed: int) -> Tensor:
        return parameter(student.VocabEmbedding(**sizes, init_mean=MEAN, init_std=STD, init_seed=seed), SIZE)

    return _of(table, _normal, _uniform)


def of_shard(student: Student) -> str | None:
    """Compare the ranks' rows with each other; then look at those of rank 0, whose seed is the base seed anyway."""
    world = 3
    sizes = {"vocab_size": SIZE[0] * world, "emb_size": SIZE[1], "world_size": world}

    def shard(seed: int, rank: int = 0) -> Tensor:
        options = {"init_mean": MEAN, "init_std": STD, "init_base_seed": seed}
        return parameter(student.ParallelVocabEmbedding(**sizes, **options, rank=rank), SIZE)

    found = _of(shard, _normal, _uniform)
    shards = [shard(SEED, rank) for rank in range(world)]
    drawn = bool((shards[0] != shards[0][0, 0]).any())  # a table of zeros is the same on every rank, too
    if drawn and all(torch.equal(one, shards[0]) for one in shards):
        return only(["shard_seed_without_rank", *([found] if found else [])])
    if found == "init_seed_ignored" and not torch.equal(shards[1], shard(SEED + 1, 1)):
        return None  # the seed does enter, by another rule
    return found
