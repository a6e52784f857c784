"""Task 3: what a call leaves behind, and the gradient that it sends back to the shard.

The expected gradient follows from the outputs for single ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import plain
from grader.assignment.hidden.conditions import AFTER, in_mode, mirrored, passed_back
from grader.assignment.hidden.embeddings import (
    check_expanded,
    check_ids,
    check_in_16_bits,
    conditions_of,
    upstream_integers,
)
from grader.assignment.hidden.shards import (
    EMB,
    LAYOUT,
    OUTPUTS,
    PURITY,
    SENT,
    VOCAB,
    Call,
    Sent,
    as_held,
    construct,
    layouts,
    of_world,
    own_rows,
    rows_of,
    split_worlds,
    whole_table,
)
from grader.assignment.model.histories import Step, check_history, is_random, with_ids
from grader.assignment.model.outputs import numbers
from grader.assignment.model.parameters import gradient_of, rows_held
from grader.assignment.model.row_words import check_rows
from grader.assignment.model.rows import Rows, Shown, check_gradient, require_something, rows_by_contract
from grader.testing import (
    Crashed,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_equal,
    contract_first,
    dtypes,
    integers,
    name,
    normal,
    say,
)


def purity_by_contract(student: Student, world: int, device: str) -> None:
    table = whole_table(student.seed, torch.float32)
    for call in of_world(PURITY, world):
        ids = call.layout(integers(student.seed, "ids", shape=(2, 20), low=0, high=VOCAB))
        output = check_that_nothing_changes(student, table, table, ids, call, device)
        expected = rows_by_contract(table, own_rows(call.rank, world)).given[ids]
        check_rows(output, expected, ids, table, say("ids on rank {rank} of {world}", rank=call.rank, world=world))


@pytest.mark.rubric("shard_purity")
@contract_first(purity_by_contract, *OUTPUTS)
@split_worlds
def test_ids_and_shard_stay_as_they_were(student: Student, world: int, device: str) -> None:
    table = whole_table(student.seed, torch.float32)
    seen: list[Rows] = []
    for call in of_world(PURITY, world):
        rows = rows_of(student, table, call.rank, world, device)
        seen.append(rows)
        ids = integers(student.seed, "ids", shape=(20,), low=0, high=VOCAB)
        ids = ids[~rows.given.isnan().any(-1)[ids]].repeat(2, 1)
        if not ids.numel():
            continue  # shard_owned_ids or shard_zeros_elsewhere charges for a crash
        held = as_held(student, table, call.rank, world, device)
        check_that_nothing_changes(student, table, held, ids, call, device)
    require_something(*seen)


def check_that_nothing_changes(
    student: Student, table: Tensor, held: Tensor, ids: Tensor, call: Call, device: str
) -> Tensor:
    """Require ids and the shard, of the table ``held``, to be the same after a call; returns its output.

    In evaluation, no gradients are recorded. The shard is asked for in either mode once.
    """
    module = construct(student, table, call.rank, call.world, device)

    def observed(training: bool) -> Tensor:
        there = ids.to(device)
        output, after = module.train(training).observe(there, recording=training, then=mirrored(there))
        check_ids(ids, after)
        return output

    output = in_mode(observed, call.training)
    if call.world > 2:
        return output
    if call.rank:
        check_expanded(student, module, ids[:1].to(device), LAYOUT)  # which charges for ids in columns
    left, own = module.held(VOCAB // call.world * EMB, VOCAB * EMB), own_rows(call.rank, call.world)
    if left is not None:
        check_equal(rows_held(left, held, own), held[own], AFTER.filled(what=say("the shard")))
    return output


@pytest.mark.rubric("shard_purity")
def test_earlier_calls_leave_no_trace(student: Student, device: str) -> None:
    check_in_16_bits(
        partial(check_shard_history, student, device),
        lambda fault: student.excuse(fault, RANDOM if is_random(fault) else OUTPUTS),
    )


def check_shard_history(
    student: Student, device: str, dtype: torch.dtype, excuse: Callable[[StudentFault], None]
) -> None:
    """Require every call of a history to answer as on a new module."""
    first, second = (normal(student.seed, "history", which, shape=(VOCAB, EMB)).to(dtype) for which in range(2))
    ids, own = integers(student.seed, "calls", shape=(3, 4, 12), low=5, high=25), own_rows(1, 3)
    ids[:, 2, 5:7] = torch.tensor([9, 14])
    updates = [Step(update=layouts(table[own], 3)) for table in (second, first)]
    other = Step(other=lambda: student.ParallelVocabEmbedding(vocab_size=VOCAB, emb_size=EMB, rank=3, world_size=5))
    alike = Step(other=lambda: middle_shard(student, dtype, device).assign(*layouts(second[own], 3)), alike=True)
    steps = [alike, other, *with_ids(ids.to(device), updates)]
    start = layouts(first[own], 3)
    check_history(lambda values: middle_shard(student, dtype, device).assign(*values), steps, start, excuse)


RANDOM = ("shard_owned_ids", "shard_zeros_elsewhere", "shard_sum_over_ranks")  # charge for random outputs


def middle_shard(student: Student, dtype: torch.dtype, device: str) -> StudentModule:
    """The module of the middle one of three ranks."""
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": 1, "world_size": 3}
    return student.ParallelVocabEmbedding(**sizes, dtype=dtype, device=device)


OF_SHARD = "{dtype} gradient of the shard of rank {rank} of {world}"


def gradients_by_contract(student: Student, dtype: torch.dtype, device: str) -> None:
    table = normal(student.seed, "table", shape=(VOCAB, EMB)).to(dtype)
    for row in sent(dtype):
        rows = rows_by_contract(table, own_rows(row.rank, row.world))
        check = partial(check_shard_gradient, student, rows, row.ids(student.seed), table=table, row=row, device=device)
        in_mode(check, row.training)


def sent(dtype: torch.dtype) -> list[Sent]:
    """The rows with this dtype."""
    return [row for row in SENT if row.dtype is dtype]


@pytest.mark.rubric("shard_backward")
@contract_first(gradients_by_contract, *OUTPUTS)
@dtypes
def test_only_owned_ids_send_gradients(student: Student, dtype: torch.dtype, device: str) -> None:
    """The expected gradient follows from the rows that single ids give."""
    try:
        check_against_rows(student, dtype, device)
    except Crashed:
        if dtype is torch.float32:
            raise
        student.read[:] = [Shown(narrow=False)]


def check_against_rows(student: Student, dtype: torch.dtype, device: str) -> None:
    """Require the gradients of some ranks to follow from what they give for single ids."""
    table = normal(student.seed, "table", shape=(VOCAB, EMB)).to(dtype)
    read = [rows_of(student, table, row.rank, row.world, device) for row in sent(dtype)]
    require_something(*read)
    for row, rows in zip(sent(dtype), read, strict=True):
        ids = row.ids(student.seed)
        ids = ids[~rows.given.isnan().any(-1)[ids]]  # other properties charge for ids that crash
        if not bool(rows.given[ids].any()):
            continue  # shard_owned_ids charges for ids none of which is answered
        make, asked = partial(construct, student, table, row.rank, row.world, device), ids.unsqueeze(0).to(device)
        conditions = conditions_of(make, asked, training=row.training, between=row.between)
        reading = row._replace(layout=plain, **conditions)  # type: ignore[arg-type] # both are bool
        check = partial(check_shard_gradient, student, rows, table=table, row=reading, device=device)
        try:
            in_mode(partial(check, ids), reading.training)
        except WrongAnswer:
            together = make()(asked)
            if together.numel() != len(ids) * EMB or bool((together.cpu()[0] == rows.given[ids]).all()):
                raise
            for alone in ids.split(1):  # shard_sum_over_ranks charges if ids together give other rows than alone
                given = make()(alone.unsqueeze(0).to(device))
                if not torch.equal(given.cpu().reshape(-1).double(), rows.given[alone[0]]):
                    continue
                in_mode(partial(check, alone), reading.training)


def check_shard_gradient(
    student: Student, rows: Rows, ids: Tensor, training: bool, *, table: Tensor, row: Sent, device: str
) -> None:
    """Require the gradient that follows from the rows that single ids give."""
    place = (row.rank, row.world)
    own, given = own_rows(*place), row.layout(ids.reshape(2 - len(ids) % 2, -1)).to(device)

    def module(shard: Tensor) -> StudentModule:
        whole = table.index_copy(0, torch.arange(VOCAB)[own], shard)
        return construct(student, whole, *place, device).train(training)

    def outputs(shard: Tensor) -> Tensor:
        return numbers(module(shard)(given), upstream.shape)

    upstream = upstream_integers(student.seed, (len(ids), EMB), table.dtype, small=not rows.has_digits_of(table))
    what = say(OF_SHARD, dtype=name(table.dtype), rank=row.rank, world=row.world)

    def check(arriving: Tensor, between: bool) -> None:
        others = mirrored(given) * between
        found = module(table[own]).gradients(given, upstream=arriving.to(device), between=others)
        gradient = rows_held(gradient_of(found.of_parameters, say("the shard")), table, own)
        check_gradient(gradient, rows, ids, upstream, own, what, outputs, table[own])

    arriving = upstream.reshape(*given.shape, EMB)
    passed_back(check, arriving, row.upstream, row.between)
