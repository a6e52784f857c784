"""A module's parameter in whatever layout the module holds it; another property charges for a wrong layout."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.testing import StudentModule, WrongAnswer, say

INPUT = say("the input")
OF_INPUT = "{dtype} gradient of the input, {sizes}"


def drawn(module: StudentModule, *sizes: int) -> Tensor | None:
    """The tensor of one of these sizes that a module holds; or else its only parameter.

    Other properties charge for a wrong number of elements, and for a tensor that is no parameter.
    """
    value = module.held(*sizes)
    if value is None:
        match module.parameters():
            case [only]:
                return only.value
    return value


def rows_held(value: Tensor, table: Tensor, own: slice) -> Tensor:
    """``[rows, e]``: the rows ``own`` of ``table: [v, e]``, or their gradients, cut out of the tensor ``value``.

    ``value`` may hold these rows alone or the whole table, transposed, flat, or with further rows at its end.
    """
    size = table.shape[1]
    if value.dim() == 2 and value.shape[1] != size == value.shape[0]:
        value = value.T
    value = value.reshape(-1, size)
    return value[own] if len(value) == len(table) else value[: len(table[own])]


def gradient_of_input(of_arguments: Sequence[Tensor | None], where: str = INPUT) -> Tensor:
    """The gradient of a call's first argument.

    Raises:
        WrongAnswer: If it has none.
    """
    return gradient_of(of_arguments[:1], where)


def gradient_of(gradients: Sequence[Tensor | None], where: str) -> Tensor:
    """The gradient of an argument or of the assigned parameter; flat, if the module holds it in several pieces.

    Raises:
        WrongAnswer: If a piece has no gradient.
    """
    pieces = [gradient for gradient in gradients if gradient is not None]
    if not gradients or len(pieces) < len(gradients):
        raise WrongAnswer(say("no gradient reaches {where}", where=where))
    return pieces[0] if len(pieces) == 1 else torch.cat([piece.flatten() for piece in pieces])
