"""What notebooks take as given where an earlier exercise asks for it, so that none holds an answer to another."""

from __future__ import annotations

import torch
from torch import Tensor

# The share of its own frequency that each pair keeps on the ramps of notebook 5, for the models of notebooks 6 and 8:
# so many pairs that keep all of it, the shares of those after them, and the number of pairs; the others keep nothing.
_KEPT = {
    "ramp over turns, beta 32": (0, [0.2963198825, 0.07164740563, 0.0005997301867], 8),
    "ramp over pairs, beta 32": (1, [2 / 3, 1 / 3], 8),
    "Llama 3.1": (29, [0.8036210418, 0.5928492948, 0.4211509973, 0.2812826051, 0.1673434023, 0.07452656414], 64),
    "Llama 4 Scout": (35, [], 64),
    "Qwen3": (24, [n / 17 for n in range(16, 0, -1)], 64),
    "DeepSeek-V3": (11, [n / 13 for n in range(12, 0, -1)], 32),
    "DeepSeek-V4": (16, [n / 10 for n in range(9, 0, -1)], 32),
    "gpt-oss": (
        9,
        [0.9025043568 - n * 0.1074662686 for n in range(9)],
        32,
    ),
}


def frequencies(dim: int = 128, base: float = 10_000.0) -> Tensor:
    """How far each pair turns from one position to the next, in equal ratios from 1 to base^(2/dim - 1): [dim/2]."""
    return torch.logspace(0, 2 / dim - 1, dim // 2, base=base, dtype=torch.float64)


def share_kept(name: str) -> Tensor:
    """The share of its own frequency that each pair keeps, for a ramp or a model: [dim/2]."""
    whole, between, pairs = _KEPT[name]
    shares = torch.zeros(pairs, dtype=torch.float64)
    shares[:whole] = 1
    shares[whole : whole + len(between)] = torch.tensor(between, dtype=torch.float64)
    return shares
