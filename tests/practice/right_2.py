"""A right implementation: token by token."""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which tokens of packed documents each token may attend to; ``right_1.py`` has the contract."""
    if window <= 0:
        raise ValueError(f"window={window}: a token sees itself")
    if sinks <= -1:
        raise ValueError(f"sinks={sinks} is negative")
    mask = torch.zeros(len(documents), len(documents), dtype=torch.bool)
    members: dict[int, list[int]] = {}
    for token, document in enumerate(documents.tolist()):
        mine = members.setdefault(document, [])
        mine.append(token)
        for other in mine:
            mask[token, other] = other > token - window or other in mine[:sinks]
    return mask
