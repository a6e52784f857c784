"""A temperature of attention that follows the position of the query."""

import torch
from torch import Tensor


def query_temperature(positions: Tensor, *, floor: int = 8192, slope: float = 0.1) -> Tensor:
    """``1 + slope * ln(1 + floor((p + 1) / floor))``, by which a query at position ``p`` is multiplied.

    Later queries see more keys, among which one that stands out by a fixed gap loses its weight like ``1/n``. Larger
    logits undo that, as the factor of YaRN does; but here each query has its own factor, and that is 1 before position
    ``floor - 1``.

    Args:
        positions: ``[seq]``.
        floor: How many positions share a factor.
        slope: 0.1 in Llama 4.

    Returns:
        ``[seq]``, float32.

    Source:
        ``Llama4TextAttention`` in transformers v5.23.0, models/llama4/modeling_llama4.py, for layers without rotation;
        after Nakanishi, arXiv:2501.19399v1.
    """
    steps = torch.floor((positions.float() + 1) / floor)
    return 1 + slope * torch.log1p(steps)
