"""The numbers that a module has learnt, in whatever layout it holds them: the layout is charged elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.judge.faults import WrongAnswer
from grader.judge.student import StudentModule


def drawn(module: StudentModule, *sizes: int) -> Tensor | None:
    """What a module holds of one of these sizes; or its only parameter, if it is no tiny one.

    How many elements it should have, and that it is a parameter, is charged elsewhere.
    """
    value = module.held(*sizes)
    if value is None:
        match module.parameters():
            case [only] if 8 * only.value.numel() >= min(sizes):
                return only.value
    return value


def rows_held(value: Tensor, table: Tensor, own: slice) -> Tensor:
    """``[rows, e]``: the rows ``own`` of ``table: [v, e]`` as a tensor holds them, or their gradients.

    It may hold these alone or the whole table, transposed, flat, or with further rows behind.
    """
    size = table.shape[1]
    if value.dim() == 2 and value.shape[1] != size == value.shape[0]:
        value = value.T
    value = value.reshape(-1, size)
    return value[own] if len(value) == len(table) else value[: len(table[own])]


def gradient_of(gradients: Sequence[Tensor | None], where: str) -> Tensor:
    """The gradient of what was assigned; of several pieces, flat.

    Raises:
        WrongAnswer: If none has arrived.
    """
    pieces = [gradient for gradient in gradients if gradient is not None]
    if not gradients or len(pieces) < len(gradients):
        raise WrongAnswer(f"no gradient reaches {where}")
    return pieces[0] if len(pieces) == 1 else torch.cat([piece.flatten() for piece in pieces])
