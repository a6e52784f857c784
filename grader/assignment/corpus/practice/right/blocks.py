"""Fills in one document after the other."""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """See ``right_1`` in ``tests/practice/implementations.py``."""
    if min(window, sinks + 1) < 1:
        raise ValueError(f"visible(window={window}, sinks={sinks})")
    allowed = documents.new_zeros((documents.numel(),) * 2, dtype=torch.bool)
    for document in documents.unique().tolist():
        (own,) = torch.where(documents == document)
        near = own.unsqueeze(1).sub(own).lt(window)
        near[:, :sinks] = True
        allowed[own.unsqueeze(1), own] = near.tril()
    return allowed
