"""Counts each token's number within its document, and returns the transpose of what it builds."""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """See ``right_1`` in ``tests/practice/implementations.py``."""
    if window < 1:
        raise ValueError("the window is empty")
    if sinks < 0:
        raise ValueError("fewer than no sinks")
    ids, owner = torch.unique(documents, return_inverse=True)
    belongs = torch.nn.functional.one_hot(owner, len(ids) + 1)
    number = belongs.cumsum(0).gather(1, owner[:, None]).squeeze(1)  # from 1, within the document
    ones = torch.ones(len(documents), len(documents), dtype=torch.bool)
    seen_by = (ones.triu().tril(window - 1) | (number <= sinks)[:, None] & ones.triu()).logical_and(
        owner.unsqueeze(1).eq(owner)
    )
    return seen_by.T
