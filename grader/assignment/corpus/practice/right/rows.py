"""Decides every entry by itself, in plain Python."""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """See ``right_1`` in ``tests/practice/implementations.py``."""
    if not (window >= 1 and sinks >= 0):
        raise ValueError
    ids = [int(number) for number in documents]

    def sees(row: int, column: int) -> bool:
        if column > row or ids[row] != ids[column]:
            return False
        return row - column < window or ids[:column].count(ids[column]) < sinks

    rows = [[sees(row, column) for column in range(len(ids))] for row in range(len(ids))]
    return torch.tensor(rows, dtype=torch.bool).reshape(len(ids), len(ids))
