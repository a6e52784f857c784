"""Task 3, outputs: every rank of every split, with the ids at both edges of each rank's range.

``shard_owned_ids`` and ``shard_zeros_elsewhere`` judge a rank's outputs for single ids. The expected outputs for
batches and sums are derived from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import plain
from grader.assignment.hidden.conditions import UNFROZEN, in_mode, only_if, right_alone, stating, succeeds
from grader.assignment.hidden.devices import check_on
from grader.assignment.hidden.embeddings import WIDE_RIGHT, built, check_assigned, digits
from grader.assignment.hidden.shards import (
    EMB,
    LARGE,
    LAYOUT,
    OTHERS,
    OUTPUTS,
    OWNED,
    ROWS,
    SUMS,
    VOCAB,
    ZEROS,
    Call,
    as_held,
    construct,
    layouts,
    of_world,
    own_rows,
    rows_of,
    shown,
    split_worlds,
    whole_table,
    worlds,
)
from grader.assignment.model.parameters import drawn
from grader.assignment.model.row_words import (
    CONVERTED,
    GIVES,
    ROW_OF,
    TOLD,
    answered,
    check_rows,
    told_conversion,
    told_remainder,
)
from grader.assignment.model.rows import NOTHING, Rows, Shown, read_rows, require_something, rows_by_contract
from grader.testing import (
    ALONE,
    Crashed,
    Message,
    Student,
    StudentModule,
    WrongAnswer,
    check_equal,
    check_shape,
    contract_first,
    generator,
    integers,
    normal,
    quoted,
    require,
    say,
    without_excuse,
)

OWN_IDS = "own ids of rank {rank} of {world}"
FALLING = say("{what}, from the last to the first")
AMONG_OTHERS = "{own} own of {n} ids on rank {rank} of {world}, init_mean=3"
RAISE = "\nOn rank {rank} of {world}, these ids raise it: {ids}."
RIGHT_AMONG = (
    "this call has own ids only; with {world} ranks and other ranks' ids in the same call, own ids give the right rows"
)
BY_FIRST_ROW = say("at [i, j], each rank goes by the id at [0, j] to give zeros or a row: not every id is checked")
FOREIGN_IDS = "ids of other ranks on rank {rank} of {world}"
BESIDE_OWN = say("none of these ids is the rank's own; beside own ids, all of them give zeros")
MANY_ROWS, MANY_RANKS = 66_510, 739  # 90 rows each
MANY_IDS = torch.stack((torch.arange(436, 692), torch.arange(1 << 16, (1 << 16) + 256)))


def owned_by_contract(student: Student, world: int, device: str) -> None:
    table = whole_table(student.seed, torch.float32)
    for call in of_world(OWNED, world):
        check_owned(student, table, table, call, device)


def check_owned(student: Student, table: Tensor, held: Tensor, call: Call, device: str) -> None:
    """Require the rows of a rank's own ids.

    A mistake with either size of one, or in either mode, shows here, and in no other property.
    """
    owned = torch.arange(VOCAB)[own_rows(call.rank, call.world)]
    owned = (owned.flip(0) if call.falling else owned).unsqueeze(int(call.tall))
    what = say(OWN_IDS, rank=call.rank, world=call.world)

    def check(training: bool, frozen: bool, called: bool) -> None:
        module = construct(student, table, call.rank, call.world, device, called=called).train(training)
        output = (module.freeze() if frozen else module)(call.layout(owned).to(device))
        check_rows(output, held[owned], owned, held, FALLING.filled(what=what) if call.falling else what)

    def check_in(training: bool, called: bool) -> None:
        only_if(call.frozen, partial(check, training, called=called), UNFROZEN)

    check_assigned(student, lambda called: in_mode(partial(check_in, called=called), call.training), "shard_purity")


@pytest.mark.rubric("shard_owned_ids")
@contract_first(owned_by_contract, LAYOUT)
@worlds
def test_owned_ids_give_their_rows(student: Student, world: int, device: str) -> None:
    table = whole_table(student.seed, torch.float32)

    def check(call: Call) -> None:
        held = as_held(student, table, call.rank, world, device)
        check_owned(student, table, held, call._replace(layout=plain), device)

    for call in of_world(OWNED, world):
        try:
            check(call)
        except Crashed as crash:
            raise crash.with_more(*told_alone(student, table, call.rank, world, device)) from None
        except WrongAnswer as fault:
            ranks = max(world, 2)
            beside = [call._replace(rank=rank, world=ranks) for rank in ([call.rank] if world > 1 else range(ranks))]
            right = all(succeeds(partial(check_owned_among, student, table, one, device)) for one in beside)
            told = say(RIGHT_AMONG, world=ranks) if right else None
            alone = right_alone(student, partial(check, call))
            others = [ALONE] if alone else answered_by_all(student, table, world, device)
            raise fault.with_more(told, *others) from None


def told_alone(student: Student, table: Tensor, rank: int, world: int, device: str) -> list[Message]:
    """Which of a rank's own ids raise an exception, if not all do, and which wrong rows others give, for messages."""
    rows, own = rows_of(student, table, rank, world, device), torch.arange(VOCAB)[own_rows(rank, world)]
    crashing = rows.given[own].isnan().any(-1)
    if bool(crashing.all()):
        return []
    if world > 1 and bool((rows.source[own] == own).all()):
        return [say(RIGHT_AMONG, world=world)]
    ids = ", ".join(map(str, own[crashing].tolist()))
    shifted = own[(rows.source[own] != own) & (rows.source[own] >= 0)].tolist()
    some = [say(GIVES, id=one, seen=say(ROW_OF, id=int(rows.source[one]))) for one in shifted[:TOLD]]
    return (
        [say(RAISE, rank=rank, world=world, ids=ids)] * bool(ids)
        + some
        + answered_by_all(student, table, world, device)
    )


def check_owned_among(student: Student, table: Tensor, call: Call, device: str) -> None:
    """Require the rows of a rank's own ids in a call with all ids, in the mode of its own ids alone."""
    place = (call.rank, call.world)
    output = construct(student, table, *place, device).train(call.training)(torch.arange(VOCAB, device=device)[None])
    check_shape(output, [1, VOCAB, EMB])
    held, own = as_held(student, table, *place, device), own_rows(*place)
    check_equal(output[0, own].cpu(), held[own], quoted("output"))


def answered_by_all(student: Student, table: Tensor, world: int, device: str) -> list[Message]:
    """Which ids each rank answers, for messages: in this split and in one over three, since two leave rules open."""
    splits = sorted({world, 3}) if world < VOCAB else [3]
    read = {ranks: [rows_of(student, table, rank, ranks, device) for rank in range(ranks)] for ranks in splits}
    remainder = told_remainder(torch.stack([rows.source for rows in read[3]]))
    return [*(answered([rows.given for rows in ranks]) for ranks in read.values()), *filter(None, [remainder])]


def check_large_ids(
    student: Student, device: str, dtype: torch.dtype, training: bool = True, called: bool = False
) -> None:
    """Require from rank 1 the rows of ids of which 16 bits hold not all."""
    half, sizes = MANY_ROWS // 2, {"vocab_size": MANY_ROWS, "emb_size": 3, "rank": 1, "world_size": 2}
    ids, table = torch.tensor([[half, half + 2049], [66_155, 2 * half - 1]]), digits(torch.arange(2 * half)).to(dtype)
    module = student.ParallelVocabEmbedding(**sizes, dtype=dtype, device=device).train(training)
    output = built(module, device, called).assign(*layouts(table[half:], 2))(
        ids.to(device)
    )  # a whole table: both halves alike
    try:
        check_rows(output, table[ids], ids, table, say(OWN_IDS, rank=1, world=2))
    except WrongAnswer as fault:
        rows = torch.cat((torch.zeros_like(table[:half]), table[half:]))
        raise fault.with_more(told_conversion(output, ids, rows, half)) from None


@pytest.mark.rubric("shard_owned_ids")
def test_ids_beyond_16_bits_give_their_own_rows(student: Student, device: str) -> None:
    """Real vocabularies have more than 65,536 rows; 257 is no bfloat16 number, 2049 no float16, 32768 no int16.

    In float32, 33,255 times its reciprocal is less than one.
    """
    try:
        check = partial(check_large_ids, student, device, torch.bfloat16)
        check_assigned(student, lambda called: in_mode(partial(check, called=called), training=True), "shard_purity")
    except Crashed as crash:
        check_large_ids(student, device, torch.float32)
        student.excuse(crash.with_more(WIDE_RIGHT), (LAYOUT,))  # as it charges for one that crashes with 16-bit shards


@pytest.mark.rubric("shard_owned_ids")
@pytest.mark.parametrize(("emb_size", "training"), [(1, True), (2050, False)])  # float16 skips integers beyond 2048
def test_rows_of_any_length_are_complete(student: Student, emb_size: int, training: bool, device: str) -> None:
    # Of 49 ranks, since 98 times the rounded 1 / 49 is less than two.
    table, ids = normal(student.seed, "table", shape=(98, emb_size)), torch.tensor([[3, 2], [2, 3]])
    sizes = {"vocab_size": 98, "emb_size": emb_size, "rank": 1, "world_size": 49, "device": device}

    def check(training: bool, called: bool) -> None:
        module = built(student.ParallelVocabEmbedding(**sizes), device, called).train(training)
        told = say("{what}, for emb_size={e}", what=say(OWN_IDS, rank=1, world=49), e=emb_size)
        check_rows(module.assign(*layouts(table[2:4], 49))(ids.to(device)), table[ids], ids, table, told)

    check_assigned(student, lambda called: in_mode(partial(check, called=called), training), "shard_purity")


def zeros_by_contract(student: Student, world: int, device: str) -> None:
    check_all_ids(student, world, device)
    check_without_own(student, torch.arange(own_rows(world - 1, world).start), world, device)
    if world == 2:
        check_beyond_16_bits(student, device)


def check_beyond_16_bits(student: Student, device: str, *, any_shape: bool = False) -> None:
    """Require zeros from rank 1 of many for ids of later ones, whose last 8, or 16, bits are those of all own ids."""
    ids, table = MANY_IDS, digits(torch.arange(MANY_ROWS)).bfloat16()
    sizes = {"vocab_size": MANY_ROWS, "emb_size": 3, "rank": 1, "world_size": MANY_RANKS}
    module = student.ParallelVocabEmbedding(**sizes, device=device)
    output = module.assign(*layouts(table[own_rows(1, MANY_RANKS, MANY_ROWS)], MANY_RANKS))(ids.to(device))
    check_only_zeros(output, ids, table, say(FOREIGN_IDS, rank=1, world=MANY_RANKS), any_shape)


def check_only_zeros(output: Tensor, ids: Tensor, table: Tensor, what: Message, any_shape: bool) -> None:
    """Require zeros of ids none of which is a rank's own; where any shape will do, ``LAYOUT`` charges for it."""
    zeros = torch.zeros(*ids.shape, table.shape[1])
    output = output.reshape(zeros.shape) if any_shape and output.numel() == zeros.numel() else output
    check_rows(output, zeros, ids, table, what)


def check_without_own(student: Student, ids: Tensor, world: int, device: str, *, any_shape: bool = False) -> None:
    """Require zeros from a call of the last rank with these ids alone, none of which belongs to it."""
    table, ids = whole_table(student.seed, torch.float32), ids.repeat(2, 1)
    what = say(FOREIGN_IDS, rank=world - 1, world=world)

    def check(training: bool) -> None:
        output = construct(student, table, world - 1, world, device).train(training)(ids.to(device))
        check_only_zeros(output, ids, table, what, any_shape)

    with stating(BESIDE_OWN):
        in_mode(check, world == 2)


def check_all_ids(student: Student, world: int, device: str) -> None:
    """Require rows for the ids that a rank owns, and zeros for all others, in any order and whatever ``init_mean``."""
    table = whole_table(student.seed, torch.float32)

    def check(call: Call, ids: Tensor, training: bool) -> None:
        own = own_rows(call.rank, world)
        module = construct(student, table, call.rank, world, device, init_mean=3.0).train(training)
        output = module(call.layout(ids).to(device))
        expected = rows_by_contract(table, own).given[ids]
        foreign = (ids < own.start) | (ids >= own.stop)
        numbers = {"own": int((~foreign).sum()), "n": ids.numel()}
        what = say(AMONG_OTHERS, **numbers, rank=call.rank, world=world)
        check_shape(output, expected.shape)
        with without_excuse() if call.layout is plain else nullcontext():
            check_rows(output[foreign], expected[foreign], ids[foreign], table, what)
        check_rows(output, expected, ids, table, what)

    for call in of_world(ZEROS, world):
        more = torch.arange(VOCAB)[own_rows(call.rank, world)].repeat(2 * world * call.mostly_own)
        ids = torch.cat((torch.arange(VOCAB), more))
        ids = ids[torch.randperm(len(ids), generator=generator(student.seed, "order"))]
        in_mode(partial(check, call, ids.reshape(-1, 2) if call.tall else ids.reshape(2, -1)), call.training)


@pytest.mark.rubric("shard_zeros_elsewhere")
@contract_first(zeros_by_contract, *OTHERS)
@split_worlds
def test_ids_of_other_ranks_give_zero(student: Student, world: int, device: str) -> None:
    read = check_zeros(student, range(world), world, device)
    require_something(*read)
    unanswered = (read[-1].given == 0).all(-1).nonzero().flatten()  # the others are excused, or right
    if len(unanswered):
        check_without_own(student, unanswered, world, device, any_shape=True)
    for call in of_world(ZEROS, world):
        if call.mostly_own:
            check_mostly_answered(student, call, device)
    half = own_rows(1, 2).start
    if world == 2 and any(bool((given == 0).all()) for given in (read[0].given[half:], read[1].given[:half])):
        try:
            check_beyond_16_bits(student, device, any_shape=True)
        except (WrongAnswer, Crashed) as fault:
            if isinstance(fault, WrongAnswer) and succeeds(lambda: check_unconverted(student, device)):
                raise
            student.excuse(fault, ("shard_owned_ids",))  # which charges for ids that 16 bits do not hold


def check_unconverted(student: Student, device: str) -> None:
    """Require large own ids not to give the rows of ids converted to fewer bits, whatever else is wrong with them."""
    try:
        check_large_ids(student, device, torch.float32)
    except (WrongAnswer, Crashed) as fault:
        if fault.message.fields(CONVERTED) is not None:
            raise


def check_mostly_answered(student: Student, call: Call, device: str) -> None:
    """Require zeros, where most ids of a call give rows, of ids that give zeros alone, and where most ids do."""
    table, every = whole_table(student.seed, torch.float32), torch.arange(VOCAB)

    def module(training: bool) -> StudentModule:
        return construct(student, table, call.rank, call.world, device).train(training)

    given = read_rows(lambda: module(call.training), every.to(device), table, (1, 1)).given
    answered, unanswered = every[(given.nan_to_num() != 0).any(-1)], every[(given == 0).all(-1)]

    def check(repeated: Tensor, training: bool) -> None:
        ids = torch.cat((answered, unanswered, repeated.repeat(2 * call.world)))
        ids = ids[torch.randperm(len(ids), generator=generator(student.seed, "order"))].unsqueeze(0)
        output, is_foreign = module(training)(ids.to(device)).cpu(), torch.isin(ids, unanswered)
        check_shape(output, [*ids.shape, EMB])
        zeros, what = torch.zeros(int(is_foreign.sum()), EMB), say(FOREIGN_IDS, rank=call.rank, world=call.world)
        check_rows(output[is_foreign], zeros, ids[is_foreign], table, what)

    if succeeds(lambda: check(unanswered, call.training)):
        in_mode(partial(check, answered), call.training)


SUM = say("sum of all outputs for world_size={world_size}, {n} ids in one call")


@pytest.mark.rubric("shard_zeros_elsewhere")
@contract_first(partial(check_all_ids, world=VOCAB), *OTHERS)
def test_a_rank_with_one_row_gives_zero_elsewhere(student: Student, device: str) -> None:
    """As many ranks as ids: code that looks up some row for foreign ids must take one that every shard has."""
    check_zeros(student, [call.rank for call in of_world(ZEROS, VOCAB)], VOCAB, device)


def check_zeros(student: Student, ranks: Sequence[int], world: int, device: str) -> list[Rows]:
    """Require zeros for foreign ids; returns the outputs for single ids.

    Modules with a wrong range, on one rank at least, lose ``shard_owned_ids``. Here they may give rows for foreign ids,
    but not the same row for two ids: that would mean that ids are clamped or wrapped. If all answers are right, ids and
    ranks that are refused cost ``shard_owned_ids`` alone.
    """
    table = whole_table(student.seed, torch.float32)
    read = [rows_of(student, table, rank, world, device) for rank in ranks]
    held = [as_held(student, table, rank, world, device) for rank in ranks]
    owned = [own_rows(rank, world) for rank in ranks]
    wanted = [rows_by_contract(there, own).given for there, own in zip(held, owned, strict=True)]
    elsewhere, right = False, True
    refused, ids = torch.zeros(VOCAB, dtype=torch.bool), torch.arange(VOCAB)
    for rows, own, expected in zip(read, owned, wanted, strict=True):
        elsewhere |= not torch.equal(rows.given[own], expected[own])
        right &= bool(((rows.given == expected) | rows.given.isnan()).all())
        refused[own] = rows.given[own].isnan().any(-1)
    zeros = torch.zeros(VOCAB, EMB, dtype=torch.float64)
    for rank, rows, own, there in zip(ranks, read, owned, held, strict=True):
        foreign = (ids < own.start) | (ids >= own.stop)
        if right:
            foreign &= torch.tensor(rows.crash is None) & ~refused
        crashing = foreign & rows.given.isnan().any(-1)
        if bool(crashing.any()):
            alone = say(RAISE, rank=rank, world=world, ids=", ".join(map(str, ids[crashing].tolist())))
            try:
                construct(student, table, rank, world, device)(ids[foreign].repeat(2, 1).to(device))  # raises it again
            except Crashed as crash:
                raise crash.with_more(alone) from None
        alike = (rows.given.unsqueeze(0) == rows.given.unsqueeze(1)).all(-1).sum(-1)  # [v]: how many ids give that row
        excused = elsewhere & ((alike == 1) | beyond_own(student, table, rank, world, device, rows))
        given = rows.given.where(~excused.unsqueeze(-1), zeros)[foreign]
        what = say(FOREIGN_IDS, rank=rank, world=world)
        try:
            check_rows(given, zeros[foreign], ids[foreign], there, what)
        except WrongAnswer as fault:
            raise fault.with_more(*answered_by_all(student, table, world, device)) from None
    # Where all foreign ids give zeros here, wrong rows of own ids do not explain why some gave others before.
    student.read[:] = [one for one in student.read if one != Shown(owned=False)]
    return read


def beyond_own(student: Student, table: Tensor, rank: int, world: int, device: str, rows: Rows) -> Tensor:
    """``[v]``: which ids give a row that the module holds beyond those of its rank, if all of these rows are alike."""
    if rows.crash is not None:
        return torch.tensor(False)
    count = VOCAB // world
    value = drawn(construct(student, table, rank, world, device), count * EMB, VOCAB * EMB)
    further = torch.empty(0) if value is None or value.numel() == VOCAB * EMB else value.flatten()[count * EMB :]
    further = further[: len(further) // EMB * EMB].reshape(1, -1, EMB).cpu().double()
    return (rows.given.unsqueeze(1) == further).all(-1).any(-1) & (further == further[:, :1]).all()


def sum_by_contract(student: Student, split: tuple[int, ...], device: str) -> None:
    table = whole_table(student.seed, torch.float32)

    def check(calls: Sequence[Call], ids: Tensor, training: bool) -> None:
        total = torch.zeros(*ids.shape, EMB, dtype=torch.float64)
        for rank, world, *_, layout in calls:
            output = construct(student, table, rank, world, device).train(training)(layout(ids).to(device)).cpu()
            check_shape(output, total.shape)
            total += output.double()
        check_rows(total, table[ids], ids, table, SUM.filled(world_size=len(calls), n=ids.numel()))

    for world in split:
        in_mode(
            partial(check, of_world(SUMS, world), ids_to_sum(student.seed, world)), of_world(SUMS, world)[0].training
        )


def ids_to_sum(seed: int, world: int) -> Tensor:
    """Random ids, some repeated."""
    return integers(seed, "ids", world, shape=LARGE, low=0, high=VOCAB)


@pytest.mark.rubric("shard_sum_over_ranks")
@contract_first(sum_by_contract, *ROWS)
@pytest.mark.parametrize("split", [(1, 3), (5,)], ids=["one_and_three_ranks", "five_ranks"])
def test_shards_add_up_to_what_they_give_alone(student: Student, split: tuple[int, ...], device: str) -> None:
    """If each id alone gives its row on one rank and zero on the others, the sum is the whole embedding."""
    table = whole_table(student.seed, torch.float32)
    seen: list[Rows] = []
    for world in split:
        ids = ids_to_sum(student.seed, world)
        total, wanted = (torch.zeros(*shape, EMB, dtype=torch.float64) for shape in (ids.shape, (VOCAB,)))
        by_first = world > 1
        for rank in range(world):
            rows = rows_of(student, table, rank, world, device)
            seen.append(rows)
            if not bool(rows.given.isnan().any()):
                output = shown(student, table, rank, world, device)(ids.to(device)).cpu()
                if output.numel() != total.numel():  # shard_owned_ids charges for another number of dimensions
                    check_shape(output, total.shape)
                output = output.double().reshape(total.shape)
                total, wanted = total + output, wanted + rows.given
                by_first &= bool(output.any() and ((output != 0).any(-1) == (output[:1] != 0).any(-1)).all())
        with stating(BY_FIRST_ROW) if by_first else nullcontext():
            check_rows(total, wanted[ids], ids, table, SUM.filled(world_size=world, n=total.shape[:2].numel()))
    require_something(*seen)


def output_by_contract(student: Student, device: str) -> None:
    for rank in range(2):
        module = construct(student, whole_table(student.seed, torch.float32), rank, 2, device)
        output = module(torch.arange(VOCAB, device=device).repeat(2, 1))
        require(bool(output.any()), NOTHING)
        check_on([output], device, say("the output"))


@pytest.mark.rubric("shard_mixed_devices")
@contract_first(output_by_contract, *OUTPUTS)
def test_the_output_is_on_the_device_of_the_ids(student: Student, device: str) -> None:
    """All that this property asks for where there is no second device, of a module that does something."""
    table = whole_table(student.seed, torch.float32)
    read = [rows_of(student, table, rank, 2, device) for rank in range(2)]
    require_something(*read)
    for rank, rows in enumerate(read):
        ids = torch.arange(VOCAB)[~rows.given.isnan().any(-1)]  # other properties charge for a crash
        if ids.numel():
            check_on(
                [construct(student, table, rank, 2, device)(ids.repeat(2, 1).to(device))], device, say("the output")
            )
