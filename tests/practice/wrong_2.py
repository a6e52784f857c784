"""A wrong implementation. What should your test ask it?"""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which tokens of packed documents each token may attend to; ``right_1.py`` has the contract."""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return same & (((back >= 0) & (back < window)) | (earlier[None, :] < sinks))
