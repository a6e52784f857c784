"""One step of GRU and LSTM, for which torch asks every device but the CPU; the formulas are those of ``nn.GRU``.

They are composed of other operations, so autograd needs no backward of their own.
"""

from __future__ import annotations

import torch
from torch import Tensor


def gru_cell(
    of_input: Tensor, of_hidden: Tensor, hidden: Tensor, input_bias: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """``aten::_thnn_fused_gru_cell``.

    Args:
        of_input: ``[b, 3 h]``, the input times its weights: for the reset gate, the update gate and the new state.
        of_hidden: ``[b, 3 h]``, likewise of the hidden state.
        hidden: ``[b, h]``.
        input_bias: ``[3 h]``.
        bias: ``[3 h]``, of the hidden state.

    Returns:
        The next hidden state, and an empty tensor in the place of what torch keeps for its backward.
    """
    reset_in, update_in, new_in = _biased(of_input, input_bias).chunk(3, 1)
    reset, update, new = _biased(of_hidden, bias).chunk(3, 1)
    candidate = (new_in + (reset_in + reset).sigmoid() * new).tanh()
    return candidate + (update_in + update).sigmoid() * (hidden - candidate), hidden.new_empty(0)


def lstm_cell(
    of_input: Tensor, of_hidden: Tensor, cell: Tensor, input_bias: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``aten::_thnn_fused_lstm_cell``.

    Args:
        of_input: ``[b, 4 h]``, the input times its weights: for the input gate, the forget gate, the new cell and the
            output gate.
        of_hidden: ``[b, 4 h]``, likewise of the hidden state.
        cell: ``[b, h]``.
        input_bias: ``[4 h]``.
        bias: ``[4 h]``, of the hidden state.

    Returns:
        The next hidden state, the next cell, and an empty tensor in the place of what torch keeps for its backward.
    """
    enter, forget, new, leave = (_biased(of_input, input_bias) + _biased(of_hidden, bias)).chunk(4, 1)
    next_cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * next_cell.tanh(), next_cell, cell.new_empty(0)


def _biased(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


def register(aten: torch.library.Library) -> None:
    """Make both cells known, with gradients and without."""
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        aten.impl("_thnn_fused_gru_cell", gru_cell, key)
        aten.impl("_thnn_fused_lstm_cell", lstm_cell, key)
