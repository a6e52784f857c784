"""The embeddings: which row an id gives."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.assignment.model.outputs import numbers
from grader.testing import Crashed, Student, StudentModule

from .fit import only

# The middle rank, which has foreign ids below and above its own; an odd number of rows.
VOCAB, EMB, RANK, WORLD = 33, 5, 1, 3
ROWS = VOCAB // WORLD
FIRST, LAST = RANK * ROWS, (RANK + 1) * ROWS - 1
# Borders are left out, since to be off by one id is another mistake; no id here wraps around to the first or last row.
INSIDE = range(FIRST + 1, LAST)
BELOW, ABOVE = range(1, FIRST - 1), range(LAST + 2, VOCAB - 1)
ZERO, OTHER = -1, -2


def _shard() -> Tensor:
    """Different rows without zeros, of numbers that even bfloat16 holds exactly."""
    return 1 + torch.arange(ROWS * EMB).reshape(ROWS, EMB) / 64


def _construct(student: Student) -> StudentModule:
    sizes = {"vocab_size": VOCAB, "emb_size": EMB, "rank": RANK, "world_size": WORLD}
    return student.ParallelVocabEmbedding(**sizes).assign(_shard())


def _rows_given(module: StudentModule, ids: Sequence[int]) -> list[int]:
    """For each id the number of the row that it gives, or ``ZERO``, or ``OTHER``; an empty list if the call crashes."""
    try:
        output = numbers(module(torch.tensor([[*ids]])), (len(ids), EMB))
    except Crashed:
        return []
    places = {tuple(row): place for place, row in enumerate(_shard().tolist())} | {(0.0,) * EMB: ZERO}
    return [places.get(tuple(row), OTHER) for row in output.tolist()]


def _right_inside(module: StudentModule) -> bool:
    return _rows_given(module, INSIDE) == [identifier - FIRST for identifier in INSIDE]


def owned_rows(student: Student) -> str | None:
    """Look for rows of every third id, or for zeros in place of the first or last row, if those between are right."""
    module = _construct(student)
    given = [identifier for identifier, row in enumerate(_rows_given(module, range(VOCAB))) if row != ZERO]
    if given == [*range(RANK, VOCAB, WORLD)]:
        return "shard_dealt_ids"
    edges = _rows_given(module, [FIRST, LAST])
    lost = edges in ([ZERO, ROWS - 1], [0, ZERO], [ZERO, ZERO])
    held = module.held(ROWS * EMB)
    untouched = held is not None and torch.equal(held.reshape(ROWS, EMB), _shard())
    return "shard_lost_edge_row" if lost and untouched and _right_inside(module) else None


def foreign_rows(student: Student) -> str | None:
    """Look at the rows of foreign ids, if owned ids give the right rows: a wrong range is another mistake.

    Ids below and above the range are asked separately, since one call may crash: negative indices wrap around, too
    large ones are out of range.
    """
    module = _construct(student)
    given = [pair for ids in (BELOW, ABOVE) for pair in zip(ids, _rows_given(module, ids), strict=False)]
    wrong = [(identifier, row) for identifier, row in given if row != ZERO]
    if not wrong or not _right_inside(module):
        return None
    clamped = all(row in (0, ROWS - 1) for _, row in wrong)
    wrapped = all(row == identifier % ROWS for identifier, row in wrong)
    return only(["shard_clamped_ids"] * clamped + ["shard_wrapped_ids"] * wrapped)
