"""Task 3, the shard itself: what is drawn into it, how it is registered, and the constructor's arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import Layout, in_turns
from grader.assignment.hidden.conditions import RIGHT_FOR, check_beside, in_mode, stating, succeeds
from grader.assignment.hidden.construction import (
    CALLED,
    MOMENTS,
    OTHER_DEFAULT,
    RESET,
    RIGHT_AGAIN,
    check_defaults,
    check_drawn,
    check_only_parameter,
    check_redrawn,
    check_refusal,
    check_rows_drawn,
    check_sizes_named,
    told_refused,
    unseeded,
)
from grader.assignment.hidden.embeddings import LIKE_WIDE, OF_A_VIEW, VIEWS, check_output_dtype, check_view
from grader.assignment.hidden.shards import (
    EMB,
    LAYOUT,
    OUTPUTS,
    VOCAB,
    as_held,
    construct,
    layouts,
    own_rows,
    rows_of,
    shown,
    whole_table,
)
from grader.assignment.model.draw_words import Draw, told_seeds
from grader.assignment.model.parameters import drawn
from grader.assignment.model.row_words import check_rows
from grader.assignment.model.rows import Shown, check_like_wide, require_something, rows_by_contract
from grader.testing import (
    Crashed,
    Message,
    Student,
    StudentModule,
    WrongAnswer,
    check_dtype,
    check_shape,
    contract_first,
    dtypes,
    name,
    say,
    stated,
)

WHATEVER_IDS = say("with any ids: this rank's, other ranks', or both together")
CALLED_WITH = "vocab_size={vocab_size}, rank {rank} of {world}, ids {ids} (own ids among them: {own})"
BAD_SIZES = pytest.mark.parametrize(  # on the first rank, in the middle, and on the last one
    ("vocab", "world", "rank"), [(10, 3, 0), (25, 4, 1), (7, 8, 7)], ids=["10_over_3", "25_over_4", "7_over_8"]
)
REGISTERED_ON = {torch.float32: (2, 5), torch.float16: (0, 2), torch.bfloat16: (2, 3)}
DRAWN = {torch.float32: ((1, 4), (10, 12)), torch.float16: ((2, 4),), torch.bfloat16: ((0, 1),)}  # ranks of how many


@pytest.mark.rubric("shard_seed")
@in_turns("again", "moments", standard=(0.0, 1.0), shifted_with_seed_zero=(0.25, 0.5))
def test_each_rank_draws_its_own_rows(
    student: Student, moments: tuple[float, float], dtype: torch.dtype, again: bool, device: str
) -> None:
    mean, std = moments
    std = 0.0 if mean and dtype is torch.float16 else std  # legal, but falsy: `init_std or 1.0` loses it
    draw, base_seed = Draw("normal", mean, std), 0 if mean else 2_000_000_009 + 4 * student.seed  # 01 in bits: no `|`
    more = {"init_base_seed": base_seed, "init_mean": mean, "init_std": std, "dtype": dtype, "device": device}
    of_moments = say(MOMENTS, mean=f"{mean:g}", std=f"{std:g}")

    def built(rank: int, world: int = 4) -> StudentModule:
        return student.ParallelVocabEmbedding(vocab_size=16 * world, emb_size=8, rank=rank, world_size=world, **more)

    def check_own(module: StudentModule, rank: int, world: int, *when: Message) -> None:
        held, own = drawn_rows(module, rank, device, world), slice(16 * rank, 16 * rank + 16)
        told = [of_moments, say("{what}, on rank {rank} of {world}", rank=rank, world=world), *when]
        check_rows_drawn(held, (16 * world, 8), own, draw, base_seed + rank, dtype, device, *told)

    def check(beside: bool, training: bool) -> None:
        for rank, world in DRAWN[dtype]:
            module = built(rank, world)
            check_own(module, rank, world)
        if beside:
            other = {"init_mean": 9.0, "init_std": 0.5, "init_base_seed": 70}
            student.ParallelVocabEmbedding(vocab_size=64, emb_size=8, rank=3, world_size=4, **other)
        if again:
            check_again(module.train(training), rank, world)

    def check_again(module: StudentModule, rank: int, world: int) -> None:
        module.assign(*layouts(torch.full((16, 8), 7.0), world)).reset_parameters()
        check_own(module, rank, world, RESET)

    try:
        in_mode(lambda training: check_beside(student, partial(check, training=training)), dtype is not torch.float16)
    except Crashed as crash:
        if DRAWN[dtype] == ((0, 1),):
            student.excuse(crash, ("shard_owned_ids", LAYOUT))  # as these charge for a rank or dtype that is refused
        elif std and dtype is torch.float32:
            raise
        elif std:  # as in the other embedding: a deviation of zero may be refused
            student.excuse(crash, (LAYOUT,))
    except WrongAnswer as fault:
        if fault.error_ulp is None:
            raise
        drawn_by = [drawn_rows(built(rank), rank, device) for rank in range(4)]
        told_by = told_seeds(drawn_by, draw, base_seed, device)
        others = 4 if DRAWN[dtype] == ((0, 1),) else 1
        right = all(succeeds(partial(check_own, built(rank, others), rank, others)) for rank in range(others))
        told_right = say(RIGHT_FOR, sizes=stated(world_size=others)) if right else None
        right_again = all(succeeds(partial(check_again, built(rank), rank, 4)) for rank in range(4))
        reset = RIGHT_AGAIN if right_again and fault.message.fields(RESET) is None else None
        raise fault.with_more(
            told_by, told_right, reset, unseeded(student, lambda: drawn_rows(built(2), 2, device), fault)
        ) from None


def drawn_rows(module: StudentModule, rank: int, device: str, world: int = 4) -> Tensor:
    """The table that the module holds, ``[16, 8]`` or whole; if it holds none, the rows that ids give."""
    value = drawn(module, 16 * 8, 16 * world * 8)
    if value is None:
        value = module(torch.arange(16 * rank, 16 * rank + 16, device=device).unsqueeze(0)).reshape(16, 8)
    return value


@pytest.mark.rubric("shard_registration_and_arguments")
@dtypes
def test_the_shard_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    rank, world = REGISTERED_ON[dtype]
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": rank, "world_size": world}
    module = student.ParallelVocabEmbedding(**sizes, dtype=dtype, device=device)
    where = say("on rank {rank} of {world}", rank=rank, world=world)
    try:
        shard = check_only_parameter(module, VOCAB // world * EMB, dtype, device, where)
    except Crashed as crash:
        others = succeeds(lambda: student.ParallelVocabEmbedding(vocab_size=VOCAB, emb_size=EMB).parameters())
        raise crash.with_more(say(CALLED, sizes=stated(**sizes)) if others else None) from None
    check_shape(shard, [VOCAB // world, EMB], say("the parameter"))
    if dtype is torch.float32:  # one dtype shows it
        check_redrawn(module, VOCAB // world * EMB, device)


def check_shard_by_default(student: Student) -> Tensor:
    """Require one rank to hold the whole table where only the sizes are given; gives it."""

    def check(**of_one: int) -> Tensor:
        module = student.ParallelVocabEmbedding(vocab_size=48, emb_size=8, **of_one)
        return check_only_parameter(module, 384, torch.float32, "cpu", say("by default"))

    try:
        return check()
    except WrongAnswer as fault:
        other = succeeds(lambda: check(rank=0, world_size=1))
        raise fault.with_more(say(OTHER_DEFAULT, argument="world_size") if other else None) from None


def defaults_by_contract(student: Student) -> None:
    check_drawn(check_shard_by_default(student), Draw("normal", 0.0, 1.0), 42, torch.float32, "cpu")


@pytest.mark.rubric("shard_registration_and_arguments")
@contract_first(defaults_by_contract, "shard_seed")
def test_arguments_have_the_defaults_of_the_stub(student: Student) -> None:
    check_shard_by_default(student)

    def shard(**arguments: Any) -> Tensor:
        held = student.ParallelVocabEmbedding(vocab_size=48, emb_size=8, **arguments).held(384)
        return torch.zeros(384) if held is None else held

    check_defaults(shard, init_mean=0.0, init_std=1.0, init_base_seed=42)


@pytest.mark.rubric("shard_registration_and_arguments")
def test_the_rank_is_zero_where_none_is_given(student: Student) -> None:
    """The same rows as with the argument; whether these are right, other properties judge."""
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "world_size": 2}
    check_defaults(lambda **rank: student.ParallelVocabEmbedding(**sizes, **rank)(torch.tensor(OWNED[0])), rank=0)


# Rank 0 of 2 owns all of them, some, none, also if it owns even ids; rank 1 the reverse, and its foreign ids are below.
OWNED = ([[5, 6, 7]] * 2, [[2, 6, 17]] * 2, [[15, 17, 21]])
NONE_OWN = say("none of these ids is the rank's own; where all are, the shape is right")
RANKS = {torch.float16: 0, torch.bfloat16: 1}


def narrow_by_contract(student: Student, dtype: torch.dtype, layout: Layout, device: str) -> None:
    table, rank = whole_table(student.seed, dtype), RANKS[dtype]
    expected = rows_by_contract(table, own_rows(rank, 2)).given
    for ids in map(torch.tensor, OWNED):
        output = check_narrow(construct(student, table, rank, 2, device), layout(ids).to(device), dtype, rank)
        check_rows(output, expected[ids], ids, table, say(OF_A_VIEW, dtype=name(dtype)))


def check_narrow(embed: Callable[[Tensor], Tensor], ids: Tensor, dtype: torch.dtype, rank: int) -> Tensor:
    """Require the dtype of the shard, whichever of the ids the rank owns; returns the output."""
    output = embed(ids)
    try:
        check_dtype(output, dtype)
    except WrongAnswer as fault:
        every = (torch.tensor(others, device=ids.device) for others in OWNED)
        asked = ids[0].tolist()
        own = len({*asked} & {*range(VOCAB)[own_rows(rank, 2)]})
        told = say(CALLED_WITH, vocab_size=VOCAB, rank=rank, world=2, own=own, ids=", ".join(map(str, asked)))
        depends = any(succeeds(lambda: check_dtype(embed(one), dtype)) for one in every)  # noqa: B023
        raise fault.with_more(told if depends else WHATEVER_IDS) from None
    return output


@pytest.mark.rubric("shard_registration_and_arguments")
@contract_first(narrow_by_contract, *OUTPUTS)
@VIEWS
def test_a_16_bit_shard_gives_what_it_gives_in_float32(
    student: Student, dtype: torch.dtype, layout: Layout, device: str
) -> None:
    """Rows and zeros, for ids of which the rank owns all, some, or none; those of the 16-bit shard not contiguous."""
    table, rank = whole_table(student.seed, dtype), RANKS[dtype]
    held = as_held(student, table, rank, 2, device)

    def check(given: Tensor, wide: Tensor, exact: Tensor) -> None:
        output = check_narrow(shown(student, table, rank, 2, device), given, dtype, rank)
        if output.shape == wide.shape == exact.shape:
            alike = (wide == wide[..., :1]).all(-1, keepdim=True).cpu()  # in all features, which no row is
            # What fills it may depend on the dtype.
            filled = ((wide.cpu() != 0) & (alike | (exact == 0))).any(-1, keepdim=True)
            student.read += [Shown(foreign=False)] * bool(filled.any())
            output, wide = (numbers.cpu().masked_fill(filled, 0) for numbers in (output, wide))
        check_like_wide(output, wide, exact, say(LIKE_WIDE, dtype=name(dtype)))

    for ids in OWNED:
        given = torch.tensor(ids, device=device)
        try:
            wide = shown(student, table.float(), rank, 2, device)(given)
        except Crashed:
            student.read.append(Shown(foreign=False))
            continue
        exact = rows_by_contract(held, own_rows(rank, 2)).given[torch.tensor(ids)]
        if wide.shape != exact.shape and not bool(exact.any()):
            own = torch.arange(VOCAB, device=device)[own_rows(rank, 2)][: given.numel()].reshape(given.shape)
            if shown(student, table.float(), rank, 2, device)(own).shape == exact.shape:
                with stating(NONE_OWN):
                    check_shape(wide, exact.shape)
        check_view(partial(check, wide=wide, exact=exact), given, layout)
    require_something(*(rows_of(student, table, either, 2, device) for either in range(2)))


@pytest.mark.rubric("shard_registration_and_arguments")
@dtypes
def test_the_output_has_the_dtype_of_the_shard(student: Student, dtype: torch.dtype, device: str) -> None:
    """On rank 0, for ids from the middle of its range, where mistakes are rare."""
    ids = torch.tensor([[5, 6, 7], [7, 5, 6]], device=device)
    check_output_dtype(lambda built: construct(student, whole_table(student.seed, built), 0, 2, device), ids, dtype)


@pytest.mark.rubric("shard_registration_and_arguments")
@BAD_SIZES
def test_a_vocabulary_that_does_not_divide_is_refused(student: Student, vocab: int, world: int, rank: int) -> None:
    try:
        check_refusal(on(student, rank), vocab_size=vocab, world_size=world)
    except WrongAnswer as fault:
        refused = succeeds(lambda: check_refusal(on(student, 0), vocab_size=vocab, world_size=world))
        on_the_first = say(RIGHT_FOR, sizes=stated(rank=0)) if refused else None
        raise fault.with_more(on_the_first, told_refused(on(student, rank), vocab_size=7, world_size=8)) from None


@pytest.mark.rubric("shard_sizes_named")
def test_a_vocabulary_that_divides_is_accepted(student: Student) -> None:
    on(student, 1)(vocab_size=VOCAB, world_size=3).parameters()


@pytest.mark.rubric("shard_sizes_named")
@BAD_SIZES
def test_the_error_names_the_sizes(student: Student, vocab: int, world: int, rank: int) -> None:
    check_sizes_named(on(student, rank), vocab_size=vocab, world_size=world)


def on(student: Student, rank: int) -> Callable[..., StudentModule]:
    """Builds the shard of a rank from a ``vocab_size`` and a ``world_size``."""
    build: Callable[..., StudentModule] = student.ParallelVocabEmbedding
    return partial(build, emb_size=4, rank=rank)
