"""What tasks 2 and 3 share: ids, of 16 bits and of more, and the dtypes of tables and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.axes import BF16, F16, Layout, strided, transposed
from grader.assignment.hidden.conditions import AFTER, mirrored, only_if, stating, succeeds
from grader.testing import (
    DTYPES,
    Crashed,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    check_dtype,
    check_equal,
    integers,
    name,
    quoted,
    require,
    say,
)

EXPANDED = say(
    "\nThese ids are expanded, as by ids.expand(b, s): their rows share memory, "
    "which holds fewer numbers than there are ids and may not be written into."
)
CONTIGUOUS = say("\nThese ids are not contiguous in memory; with ids that are, this passes.")
ONE_ROW = say("with one row of input_ids instead of several, it is right")
OF_A_VIEW = "{dtype} embedding of ids that are not contiguous in memory"
LIKE_WIDE = "{dtype} embedding of ids that are not contiguous in memory, compared with float32"
# Each layout with one dtype, and named, lest a dtype be told as the condition of what a layout brings about.
VIEWS = pytest.mark.parametrize(
    ("dtype", "layout"), [(F16, transposed), (BF16, strided)], ids=["float16-transposed", "bfloat16-strided"]
)
WIDE_RIGHT = say(
    "\nThis table is bfloat16, with ids from 257 on; with a float32 table, the same ids give their own rows."
)


def digits(ids: Tensor) -> Tensor:
    """``[*ids.shape, 3]``: each id in three digits, which even bfloat16 holds exactly."""
    return torch.stack((ids // 4096, ids // 64 % 64, ids % 64), dim=-1)


def check_assigned(student: Student, check: Callable[[bool], None], charged: str) -> None:
    """Check rows that are assigned to a new module, or after its first call: a draw there is ``charged``.

    ``check`` is called with whether the module is called before.
    """
    try:
        check(False)
    except WrongAnswer as fault:
        if not succeeds(lambda: check(True)):
            raise
        student.excuse(fault, (charged,))


def built(module: StudentModule, device: str, called: bool) -> StudentModule:
    """The module, new or after a call."""
    return module.after(torch.zeros(1, 1, dtype=torch.long, device=device)) if called else module


def conditions_of(make: Callable[[], StudentModule], ids: Tensor, *, training: bool, between: bool) -> dict[str, bool]:
    """The conditions of a gradient without those that change outputs, too: the property about purity charges for it."""
    used, later = make(), mirrored(ids)
    with suppress(Crashed):
        first, after, evaluated = used(ids), used(*later), make().train(False)(ids)
        between &= torch.equal(after, make()(*later))
        return {"training": training or not torch.equal(first, evaluated), "between": between}
    return {"training": True, "between": False}


def check_ids(ids: Tensor, after: Sequence[Tensor]) -> None:
    """Require ids to be the same ``after`` a call."""
    (left,) = after
    require(left.dtype == ids.dtype, say("the ids have a different dtype after the call"))
    check_equal(left, ids, AFTER.filled(what=quoted("input_ids")))


def check_in_16_bits(
    check: Callable[[torch.dtype, Callable[[StudentFault], None]], None],
    excuse: Callable[[StudentFault], None],
) -> None:
    """Check with a table of 16 bits, and in float32 if it refuses that; ``check`` gets what passes over a fault."""
    for dtype in (torch.bfloat16, torch.float32):
        faults: list[StudentFault] = []
        check(dtype, faults.append)
        for fault in faults:
            excuse(fault)
        if not any(isinstance(fault, Crashed) for fault in faults):
            return


def check_expanded(student: Student, module: StudentModule, row: Tensor, *charged: str) -> None:
    """Require a call with a row of ids that is expanded; others are ``charged`` for ids that have to be contiguous."""
    try:
        module(row.expand(2, -1))
    except Crashed as crash:
        student.excuse(crash.with_more(EXPANDED), charged)


def check_view(check: Callable[[Tensor], None], ids: Tensor, layout: Layout) -> None:
    """Check what ids give that are not contiguous; a fault says if it is right where they are."""
    only_if(True, lambda is_view: check(layout(ids) if is_view else ids), CONTIGUOUS)


def upstream_integers(seed: int, shape: tuple[int, ...], dtype: torch.dtype, *, small: bool) -> Tensor:
    """The gradient of an output: integers that have exact sums in any order.

    In float32 they are too large for 16 bits, unless ``small``, where it is known that outputs are rounded.
    """
    most = 2048 if dtype is torch.float32 and not small else 8
    return integers(seed, "upstream", shape=shape, low=-most, high=most + 1).to(dtype)


def check_output_dtype(build: Callable[[torch.dtype], StudentModule], ids: Tensor, dtype: torch.dtype) -> None:
    """Require a table's dtype of the output: as built, which 16-bit rows show elsewhere, and converted to another one.

    ``ids`` are cut out of longer rows, as ``tokens[:, :-1]`` is.
    """
    ids = ids.repeat(1, 2)[:, : ids.shape[1]]
    if dtype is torch.float32:
        with stating(say("as built")):
            check_dtype(build(dtype)(ids), dtype)
    other = DTYPES[DTYPES.index(dtype) - 1]
    with stating(say("after module.to({dtype}), built as {built}", dtype=name(other), built=name(dtype))):
        converted = build(dtype).to(other)
        check_dtype(converted(ids), other)
