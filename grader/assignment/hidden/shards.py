"""Task 3: modules of one rank with known rows, and the outputs that single ids give."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, F32, Layout, across, plain, strided, transposed
from grader.assignment.hidden.embeddings import built
from grader.assignment.model.rows import Rows, Shown, read_rows, rows_by_contract
from grader.testing import Crashed, Reading, Student, StudentFault, StudentModule, integers, uniform

VOCAB, EMB = 30, 5  # with one to three ranks, the number of rows is even, odd, and even
BATCH = (3, 67)  # of ids: no multiple of any size of chunks that a loop may take
LARGE = (37, 67)  # more rows than a chunk of them, too
LAYOUT = "shard_registration_and_arguments"  # charges for a module that holds a whole table
OTHERS = ("shard_owned_ids", "shard_sum_over_ranks", "shard_purity", LAYOUT)  # beside the property about zeros
ROWS = ("shard_owned_ids", "shard_zeros_elsewhere", "shard_purity", LAYOUT)  # for single ids
OUTPUTS = (*ROWS, "shard_sum_over_ranks")  # one of these for whatever is wrong with an output


class Call(NamedTuple):
    """How a rank is called: a value of each axis. Every two values of two axes meet in some row of each table."""

    rank: int
    world: int
    training: bool
    tall: bool = False  # whether ids come in many short rows, or in a column
    falling: bool = False  # whether own ids come from the last to the first
    mostly_own: bool = False  # whether more ids are the rank's own than not
    frozen: bool = False  # whether the shard requires no gradient
    layout: Layout = plain  # of the ids


OWNED = (
    Call(0, 1, training=True),
    Call(0, 2, training=False, tall=True, falling=True, layout=strided),
    Call(1, 2, training=False, falling=True),
    Call(0, 3, training=True, falling=True, frozen=True),
    Call(1, 3, training=False, tall=True, frozen=True),
    Call(1, 3, training=True, falling=True, layout=strided),
    Call(2, 3, training=True, tall=True, frozen=True, layout=strided),
)
ZEROS = (
    Call(0, 2, training=False),
    Call(1, 2, training=False, tall=True, mostly_own=True),
    Call(0, 3, training=True, tall=True, mostly_own=True, layout=strided),
    Call(1, 3, training=False, tall=True),
    Call(2, 3, training=False, layout=transposed),
    Call(0, VOCAB, training=False, tall=True, layout=transposed),
    Call(VOCAB // 2, VOCAB, training=True, mostly_own=True, layout=transposed),
    Call(VOCAB - 1, VOCAB, training=True),
)
PURITY = (
    Call(0, 2, training=True),
    Call(1, 2, training=False),
    Call(0, 3, training=False, layout=transposed),
    Call(1, 3, training=True, layout=strided),
    Call(1, 3, training=False),
    Call(2, 3, training=True, layout=transposed),
)
SUMS = tuple(
    Call(rank, world, training=world != 3, layout=transposed if rank % 2 == (world != 3) else plain)
    for world in (1, 3, 5)
    for rank in range(world)
)
worlds = pytest.mark.parametrize("world", [1, 2, 3], ids=["one_rank", "two_ranks", "three_ranks"])
split_worlds = pytest.mark.parametrize("world", [2, 3], ids=["two_ranks", "three_ranks"])


def of_world(calls: Iterable[Call], world: int) -> list[Call]:
    """Those of so many ranks."""
    return [call for call in calls if call.world == world]


class Sent(NamedTuple):
    """How a gradient is asked for: a value of each axis. Every two values of two axes meet in some row of ``SENT``."""

    rank: int
    world: int
    dtype: torch.dtype
    upstream: Layout
    training: bool
    between: bool  # whether a call comes between forward and backward
    few: bool  # whether only the ids at the edges of the rank's range are given, or all ids
    layout: Layout = plain  # of the ids

    def ids(self, seed: int) -> Tensor:
        """Some of them again."""
        if self.few:
            own = own_rows(self.rank, self.world)
            edges = torch.tensor([own.start - 1, own.start, own.stop - 1, own.stop]) % VOCAB
            return edges[[1, 0, 2, 2, 3, 1, 2, 0, 1, 3]]
        return torch.cat((torch.arange(VOCAB), integers(seed, "repeats", shape=(12,), low=0, high=VOCAB)))


SENT = (
    Sent(0, 1, F32, across, training=True, between=True, few=False),
    Sent(0, 2, F32, plain, training=False, between=True, few=True, layout=transposed),
    Sent(1, 3, F32, plain, training=True, between=False, few=False, layout=strided),
    Sent(2, 3, F32, across, training=True, between=True, few=True),
    Sent(0, 1, F16, across, training=False, between=False, few=False),
    Sent(1, 2, F16, plain, training=True, between=True, few=True, layout=transposed),
    Sent(1, 3, F16, plain, training=True, between=False, few=True),
    Sent(0, 1, BF16, plain, training=True, between=False, few=True),
    Sent(1, 3, BF16, across, training=False, between=True, few=False, layout=strided),
    Sent(2, 3, BF16, across, training=False, between=False, few=False, layout=transposed),
)


@dataclass(frozen=True)
class Shows(Reading):
    """Whether the rows of a module show in training; if not, they do in evaluation."""

    CHARGED_TO: ClassVar = {"training": ("shard_owned_ids",)}

    training: bool = True


def read_shows(student: Student) -> Shows:
    """Find out in which mode a module gives its rows, where the two differ."""
    table = whole_table(student.seed, torch.float32)

    def rows(training: bool) -> Tensor:
        module = construct(student, table, 0, 1, "cpu").train(training)
        return module(torch.arange(VOCAB).reshape(2, -1)).reshape(-1, EMB)

    try:
        return Shows(torch.equal(rows(True), table) or not torch.equal(rows(False), table))
    except (StudentFault, RuntimeError):  # of another size
        return Shows()


def whole_table(seed: int, dtype: torch.dtype) -> Tensor:
    """``[v, e]`` without zeros, so that a zero in the output does not come from the table."""
    return uniform(seed, "table", shape=(VOCAB, EMB), low=1.0, high=2.0).to(dtype)


def own_rows(rank: int, world: int, vocab: int = VOCAB) -> slice:
    """The ids that a rank owns."""
    rows = vocab // world
    return slice(rank * rows, (rank + 1) * rows)


def construct(
    student: Student, table: Tensor, rank: int, world: int, device: str, *, called: bool = False, **more: float
) -> StudentModule:
    """The student's module for one rank, with its rows of the table; or with another table, if it holds that many rows.

    It is another one, since a submission that is sent a table and rows of it would know which rows its rank owns.
    """
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": rank, "world_size": world, **more}
    module = student.ParallelVocabEmbedding(**sizes, dtype=table.dtype, device=device)
    return built(module, device, called).assign(table[own_rows(rank, world)], other_table(table))


def shown(student: Student, table: Tensor, rank: int, world: int, device: str) -> StudentModule:
    """The student's module for one rank, in the mode in which it shows its rows."""
    return construct(student, table, rank, world, device).train(student.reading(read_shows).training)


def other_table(table: Tensor) -> Tensor:
    """A table like another one, with other numbers."""
    return uniform(0, "other table", shape=tuple(table.shape), low=1.0, high=2.0).to(table.dtype)


def as_held(student: Student, table: Tensor, rank: int, world: int, device: str) -> Tensor:
    """Of which table a rank's module holds rows: the other one, if it holds a whole table."""
    held = None
    with suppress(Crashed):  # shard_owned_ids charges for a rank that is refused
        held = construct(student, table, rank, world, device).held(len(table) // world * EMB, table.numel())
    return other_table(table) if world > 1 and held is not None and held.numel() == table.numel() else table


def layouts(shard: Tensor, world: int) -> tuple[Tensor, Tensor]:
    """A parameter's value for modules that hold one shard, and for those that hold as many rows as all ranks.

    The latter shares its memory, so that it is sent once.
    """
    return shard, shard.expand(world, *shard.shape)


def rows_of(student: Student, table: Tensor, rank: int, world: int, device: str) -> Rows:
    """The outputs of one rank for each id alone."""
    held, ids = as_held(student, table, rank, world, device), torch.arange(VOCAB, device=device)
    rows = read_rows(lambda: shown(student, table, rank, world, device), ids, held, BATCH)
    own, expected = own_rows(rank, world), rows_by_contract(held, own_rows(rank, world)).given
    same = (rows.given == expected).all(-1)  # [v]
    foreign = torch.ones(VOCAB, dtype=torch.bool)
    foreign[own] = False
    student.read.append(Shown(owned=bool(same[own].all()), foreign=bool(same[foreign].all())))
    return rows
