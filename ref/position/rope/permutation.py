"""From one pair layout to the other, by reordering the rows of the projections once.

Rotating half-split is rotating adjacent on reordered features. If queries and keys are reordered alike, their products
stay as they are, so a checkpoint for one layout serves the other after its query and key rows are permuted in every
head. Values and the output projection stay: nothing rotates them.
"""

import torch
from torch import Tensor


def half_split_order(head_dim: int) -> Tensor:
    """Which adjacent feature becomes which half-split one: ``half_split = adjacent[..., order]``.

    Args:
        head_dim: Even.

    Returns:
        ``[head_dim]``, int64: even features first, then odd ones; ``[0, 2, 4, 6, 1, 3, 5, 7]`` for 8.
    """
    return torch.arange(head_dim).view(-1, 2).t().flatten()


def to_half_split(parameter: Tensor, num_heads: int) -> Tensor:
    """Convert what makes queries or keys from adjacent to half-split pairs.

    Args:
        parameter: Its first dimension is that of the features, head by head. So the weight ``[heads * head_dim,
            hidden]`` or the bias ``[heads * head_dim]`` of a query or key projection, or the weight of a norm on
            queries or keys, ``[head_dim]``, with ``num_heads=1``.
        num_heads: Heads in that dimension: with grouped queries, fewer for keys than for queries.

    Returns:
        A reordered copy.

    Raises:
        ValueError: If the first dimension does not divide into heads of even size.

    Source:
        ``permute`` in transformers v4.46.0, models/llama/convert_llama_weights_to_hf.py; ``PermuteForRope`` in v5.23.0,
        core_model_loading.py.
    """
    return _reorder_heads(parameter, num_heads, inverse=False)


def to_adjacent(parameter: Tensor, num_heads: int) -> Tensor:
    """Convert what makes queries or keys from half-split back to adjacent pairs; arguments as for ``to_half_split``."""
    return _reorder_heads(parameter, num_heads, inverse=True)


def _reorder_heads(parameter: Tensor, num_heads: int, *, inverse: bool) -> Tensor:
    rows = parameter.shape[0]
    if rows % (2 * num_heads) != 0:
        raise ValueError(
            f"{rows} rows do not divide into num_heads={num_heads} heads of even size. "
            "With grouped queries, keys have fewer heads than queries."
        )
    order = half_split_order(rows // num_heads).to(parameter.device)
    order = order.argsort() if inverse else order
    heads: Tensor = parameter.unflatten(0, (num_heads, -1))  # [heads, head_dim, ...]
    return heads[:, order].flatten(0, 1)
