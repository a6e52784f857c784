"""Task 3. Every rank of every split, with the ids at both edges of each rank's range."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.hidden.checks import (
    arrived,
    check_drawn,
    check_only_parameter,
    check_refusal,
    normal_draw,
    only_parameter,
)
from grader.judge.cases import dtypes, integers, normal, uniform
from grader.judge.compare import DTYPES, check_dtype, check_equal, check_shape, name, require
from grader.judge.student import Student, StudentModule

VOCAB, EMB = 24, 5
worlds = pytest.mark.parametrize("world", [1, 2, 3], ids=["one_rank", "two_ranks", "three_ranks"])
split_worlds = pytest.mark.parametrize("world", [2, 3], ids=["two_ranks", "three_ranks"])


def whole_table(seed: int, dtype: torch.dtype) -> Tensor:
    """``[v, e]`` without zeros, so that a zero in the output is always one that the module made."""
    return uniform(seed, "table", shape=(VOCAB, EMB), low=1.0, high=2.0).to(dtype)


def own_rows(rank: int, world: int) -> slice:
    """The ids that a rank owns."""
    rows = VOCAB // world
    return slice(rank * rows, (rank + 1) * rows)


def construct(student: Student, table: Tensor, rank: int, world: int, device: str) -> StudentModule:
    """The student's shard for one rank, holding its rows of the whole table."""
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": rank, "world_size": world}
    return student.ParallelVocabEmbedding(**sizes, dtype=table.dtype, device=device).assign(
        table[own_rows(rank, world)]
    )


@pytest.mark.rubric("shard_owned_ids")
@worlds
@dtypes
def test_owned_ids_give_their_rows(student: Student, seed: int, world: int, dtype: torch.dtype, device: str) -> None:
    table = whole_table(seed, dtype)
    for rank in range(world):
        owned = torch.arange(VOCAB)[own_rows(rank, world)].reshape(2, -1)
        output = construct(student, table, rank, world, device)(owned.to(device))
        check_equal(output, table[owned], f"{name(dtype)} embedding of the ids of rank {rank} of {world}")


@pytest.mark.rubric("shard_zeros_elsewhere")
@split_worlds
@dtypes
def test_ids_of_other_ranks_give_zero(student: Student, seed: int, world: int, dtype: torch.dtype, device: str) -> None:
    """An owned id in the middle of the range comes along: a module that only makes zeros is not right about them."""
    table = whole_table(seed, dtype)
    for rank in range(world):
        owned = own_rows(rank, world)
        foreign = [identifier for identifier in range(VOCAB) if not owned.start <= identifier < owned.stop]
        ids = torch.tensor([[*foreign, (owned.start + owned.stop) // 2]])
        output = construct(student, table, rank, world, device)(ids.to(device)).cpu()
        check_shape(output, [1, len(foreign) + 1, EMB])
        what = f"rank {rank} of {world}: "
        require(bool(output[0, -1].any()), what + "an id in the middle of its own range gives zero, like all others")
        check_equal(output[:, :-1], torch.zeros(1, len(foreign), EMB), what + "output for foreign ids")


@pytest.mark.rubric("shard_zeros_elsewhere")
def test_a_rank_with_one_row_gives_zero_elsewhere(student: Student, seed: int, device: str) -> None:
    """As many ranks as ids: a stand-in for foreign ids must be a row that every shard has."""
    table = whole_table(seed, torch.float32)
    for rank in (0, VOCAB // 2, VOCAB - 1):
        foreign = torch.tensor([[identifier for identifier in range(VOCAB) if abs(identifier - rank) > 1]])
        output = construct(student, table, rank, VOCAB, device)(foreign.to(device))
        check_equal(output, torch.zeros(*foreign.shape, EMB), f"rank {rank} of {VOCAB}: output for foreign ids")


@pytest.mark.rubric("shard_sum_over_ranks")
@pytest.mark.parametrize("world", [1, 3, 4])
@dtypes
def test_shards_add_up_to_the_whole_embedding(
    student: Student, seed: int, world: int, dtype: torch.dtype, device: str
) -> None:
    table = whole_table(seed, dtype)
    ids = integers(seed, "ids", world, shape=(3, 16), low=0, high=VOCAB)
    outputs = [construct(student, table, rank, world, device)(ids.to(device)).cpu() for rank in range(world)]
    for output in outputs:
        check_shape(output, [3, 16, EMB])
    total = torch.stack([output.double() for output in outputs]).sum(0)
    check_equal(total, table[ids], f"sum of all outputs for world_size={world}")


@pytest.mark.rubric("shard_seed")
@pytest.mark.parametrize("base_seed", [None, 7], ids=["default_seed", "other_seed"])
@dtypes
def test_each_rank_draws_its_own_rows(
    student: Student, seed: int, base_seed: int | None, dtype: torch.dtype, device: str
) -> None:
    more = {} if base_seed is None else {"init_base_seed": base_seed + seed, "init_mean": 0.25, "init_std": 0.5}
    draw = normal_draw(0.0, 1.0) if base_seed is None else normal_draw(0.25, 0.5)
    for rank in range(3):
        sizes = {"vocab_size": 48, "emb_size": 8, "rank": rank, "world_size": 3}
        module = student.ParallelVocabEmbedding(**sizes, dtype=dtype, device=device, **more)
        own_seed = (42 if base_seed is None else base_seed + seed) + rank
        check_drawn(module, draw, own_seed, dtype, device)
    module.assign(7.0).reset_parameters()
    check_drawn(module, draw, own_seed, dtype, device, " after reset_parameters()")


@pytest.mark.rubric("shard_seed")
def test_the_rank_is_zero_where_none_is_given(student: Student) -> None:
    module = student.ParallelVocabEmbedding(vocab_size=16, emb_size=8)
    check_drawn(module, normal_draw(0.0, 1.0), 42, torch.float32, "cpu")


@pytest.mark.rubric("shard_registration_and_arguments")
@dtypes
def test_the_shard_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    for rank, world in ((0, 1), (1, 2), (2, 3)):
        sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": rank, "world_size": world}
        module = student.ParallelVocabEmbedding(**sizes, dtype=dtype, device=device)
        check_only_parameter(module, VOCAB // world * EMB, dtype, device)
        check_shape(only_parameter(module), [VOCAB // world, EMB])


@pytest.mark.rubric("shard_registration_and_arguments")
def test_only_the_sizes_have_no_default(student: Student) -> None:
    """One rank holds the whole table."""
    module = student.ParallelVocabEmbedding(vocab_size=VOCAB, emb_size=EMB)
    check_only_parameter(module, VOCAB * EMB, torch.float32, "cpu")


@pytest.mark.rubric("shard_registration_and_arguments")
@dtypes
def test_the_output_has_the_dtype_of_the_shard(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """As built and converted; on rank 0, for ids from the middle of its range, which hardly anyone gets wrong."""
    module = construct(student, whole_table(seed, dtype), 0, 2, device)
    ids = torch.tensor([[5, 6, 7], [7, 5, 6]], device=device)
    check_dtype(module(ids), dtype)
    for converted in DTYPES:
        check_dtype(module.to(converted)(ids), converted)


@pytest.mark.rubric("shard_registration_and_arguments")
@pytest.mark.parametrize(("vocab", "world"), [(10, 3), (25, 4), (7, 8)], ids=["10_over_3", "25_over_4", "7_over_8"])
def test_a_vocabulary_that_does_not_divide_is_refused(student: Student, vocab: int, world: int) -> None:
    def constructor(**sizes: int) -> StudentModule:
        return student.ParallelVocabEmbedding(**sizes, emb_size=4, rank=0)

    check_refusal(constructor, vocab_size=vocab, world_size=world)


@pytest.mark.rubric("shard_purity")
@split_worlds
def test_ids_and_shard_stay_as_they_were(student: Student, seed: int, world: int, device: str) -> None:
    table = whole_table(seed, torch.float32)
    ids = integers(seed, "ids", shape=(2, 20), low=0, high=VOCAB)
    for rank in range(world):
        module = construct(student, table, rank, world, device)
        _, (after,) = module.observe(ids.to(device))
        require(after.dtype == ids.dtype, "the ids have another dtype after the call")
        check_equal(after, ids, "input_ids after the call")
        check_equal(only_parameter(module), table[own_rows(rank, world)], "the shard after the call")


@pytest.mark.rubric("shard_backward")
@worlds
@dtypes
def test_only_owned_ids_send_gradients(
    student: Student, seed: int, world: int, dtype: torch.dtype, device: str
) -> None:
    """Small whole numbers arrive from above, so that every order of adding gives the same bits."""
    ids = torch.cat((torch.arange(VOCAB), integers(seed, "repeats", shape=(12,), low=0, high=VOCAB))).reshape(3, 12)
    upstream = integers(seed, "upstream", shape=(3, 12, EMB), low=-8, high=9).to(dtype)
    table = normal(seed, "table", shape=(VOCAB, EMB)).to(dtype)
    whole = torch.zeros(VOCAB, EMB, dtype=torch.float64)
    whole.index_add_(0, ids.flatten(), upstream.double().flatten(0, 1))
    for rank in range(world):
        module = construct(student, table, rank, world, device)
        gradient = arrived(module.gradients(ids.to(device), upstream=upstream.to(device)).of_parameters, "the shard")
        what = f"{name(dtype)} gradient of the shard of rank {rank} of {world}"
        check_equal(gradient, whole[own_rows(rank, world)], what)
