"""Converts a checkpoint from one pair layout to the other, by reordering the rows of query and key projections.

To rotate half-split pairs is to rotate adjacent pairs of reordered features. If queries and keys are reordered in the
same way, their products do not change. So a checkpoint for one layout fits the other after the query and key rows of
every head are permuted. Values and the output projection do not change, since they are not rotated.
"""

import torch
from torch import Tensor


def half_split_order(head_dim: int) -> Tensor:
    """The order of features in which adjacent pairs become half-split pairs: ``half_split = adjacent[..., order]``.

    Args:
        head_dim: Even.

    Returns:
        ``[head_dim]``, int64: even features first, then odd ones; ``[0, 2, 4, 6, 1, 3, 5, 7]`` for 8.
    """
    return torch.arange(head_dim).view(-1, 2).t().flatten()


def to_half_split(parameter: Tensor, num_heads: int) -> Tensor:
    """Convert a parameter of a query or key projection from adjacent to half-split pairs.

    Args:
        parameter: Its first dimension holds the features, head by head: the weight ``[heads * head_dim, hidden]`` or
            the bias ``[heads * head_dim]`` of a query or key projection, or with ``num_heads=1`` the weight
            ``[head_dim]`` of a norm on queries or keys.
        num_heads: Number of heads in that dimension; with grouped queries, keys have fewer heads than queries.

    Returns:
        A reordered copy.

    Raises:
        ValueError: If the first dimension cannot be divided into ``num_heads`` heads of even size.

    Source:
        ``permute`` in transformers v4.46.0, models/llama/convert_llama_weights_to_hf.py; ``PermuteForRope`` in v5.23.0,
        core_model_loading.py.
    """
    return _reorder_heads(parameter, num_heads, inverse=False)


def to_adjacent(parameter: Tensor, num_heads: int) -> Tensor:
    """Convert a parameter from half-split back to adjacent pairs; the arguments are those of ``to_half_split``."""
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
