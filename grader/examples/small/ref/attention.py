"""Task 1: causal self-attention with rotary position embedding."""

import math

import torch
from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Let every token gather from itself and from the tokens before it, in several heads.

    The ``h`` features of queries, keys and values split into ``nh`` heads of ``hd`` consecutive ones. In each head::

        q = x query^T, k = x key^T, v = x value^T    [b, s, hd]: this head's features
        q, k turned by their positions               position n turns (q_i, q_{i + hd/2}) by n * base^(-2i/hd)
        p = softmax(q k^T / sqrt(hd))                over the keys at the query's own position and before it
        y = p v                                      [b, s, hd]

    The heads' results stand side by side again, ``[b, s, h]``, and are multiplied with ``output^T``.

    Its parameters are ``query``, ``key``, ``value`` and ``output``, in this order, ``[h, h]`` and float32 each; there
    are no biases. How they are initialised is up to you.

    Args:
        hidden_size: ``h``, the size of the last dimension of the input.
        heads: ``nh``; divides ``hidden_size`` into heads of an even number of features.
        base: Of the angles.

    Source:
        Vaswani et al., Attention Is All You Need, section 3.2, arXiv:1706.03762; Su et al., RoFormer, section 3.4.2,
        arXiv:2104.09864, with pairs as in the Hugging Face layout of Llama's weights.
    """

    query: nn.Parameter
    key: nn.Parameter
    value: nn.Parameter
    output: nn.Parameter

    def __init__(self, hidden_size: int, heads: int, base: float = 10000.0) -> None:
        """Register the four matrices."""
        super().__init__()
        self.heads, self.base = heads, base
        for name in ("query", "key", "value", "output"):
            self.register_parameter(name, nn.Parameter(torch.randn(hidden_size, hidden_size) / hidden_size**0.5))

    def forward(self, input: Tensor) -> Tensor:
        """Attend.

        Args:
            input: ``[b, s, h]``, float32, on the device of the parameters.

        Returns:
            ``[b, s, h]``, float32, on the same device.
        """
        projected = (input @ matrix.mT for matrix in (self.query, self.key, self.value))
        query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in projected)  # [b, nh, s, hd]
        scores = self.turn(query) @ self.turn(key).mT / math.sqrt(query.shape[-1])  # [b, nh, s, s]
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=input.device).triu(1)
        gathered: Tensor = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ value
        return gathered.transpose(1, 2).flatten(-2) @ self.output.mT  # [b, s, h]

    def turn(self, x: Tensor) -> Tensor:
        """Turn the pairs of ``[b, nh, s, hd]`` by the angles of their positions."""
        seq, head_dim = x.shape[-2:]
        theta = self.base ** (-torch.arange(0, head_dim, 2, device=x.device) / head_dim)  # [hd/2]
        angles = torch.outer(torch.arange(seq, device=x.device), theta)  # [s, hd/2]
        first, second = x.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
