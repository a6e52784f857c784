"""ALiBi: attention with linear biases."""

import torch
from torch import Tensor


def alibi_slopes(num_heads: int) -> Tensor:
    """One slope for each head: ``m_h = 2 ** (-8 * h / n)`` for ``h = 1 .. n``, if ``n`` is a power of two.

    Any other ``n`` takes the slopes of the power of two below it, ``P``, and then every second slope of ``2 * P``:
    those that lie between the slopes of ``P``.

    Args:
        num_heads: ``n``.

    Returns:
        ``[n]``, float32.

    Source:
        Press et al., section 3, arXiv:2108.12409v2; other ``n`` as in the authors' code, attention_with_linear_biases,
        fairseq/models/transformer.py.
    """
    power = 1 << (num_heads.bit_length() - 1)  # the largest power of two that is at most n
    between = _slopes_of_power(2 * power)[0::2]
    return torch.cat((_slopes_of_power(power), between[: num_heads - power]))


def _slopes_of_power(num_heads: int) -> Tensor:
    return 2.0 ** (-8.0 * torch.arange(1, num_heads + 1) / num_heads)


def alibi_bias(slopes: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """``-m_h * (q - k)``: the farther a key is behind the query, the less it counts.

    The bias is added to the logits after they are divided by ``sqrt(head_dim)``, and before the mask, which hides later
    keys. A constant added to a row does not change its softmax, so other implementations may use ``m_h * k`` instead.

    Args:
        slopes: ``m_h``, ``[heads]``.
        query_positions: ``q``, ``[queries]``.
        key_positions: ``k``, ``[keys]``.

    Returns:
        ``[heads, queries, keys]``, in the dtype of the slopes; 0 where ``q = k``.

    Source:
        Press et al., section 3, arXiv:2108.12409v2.
    """
    distances = query_positions.unsqueeze(-1) - key_positions  # [queries, keys]
    return -slopes[:, None, None] * distances
