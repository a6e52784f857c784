"""Causal self-attention with grouped queries, a cache of keys and values, and any position encoding."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .encoding import PositionEncoding


class KeyValueCache:
    """Keys and values of the positions so far, for one layer; ``[batch, length, kv_heads, head_dim]`` each."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def length(self) -> int:
        """Number of positions in the cache."""
        return 0 if self._keys is None else self._keys.shape[1]

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions, and return those of all positions."""
        if self._keys is not None and self._values is not None:
            keys, values = torch.cat((self._keys, keys), dim=1), torch.cat((self._values, values), dim=1)
        self._keys, self._values = keys, values
        return keys, values


def causal_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Which keys are hidden from a query: those of later positions.

    Args:
        query_positions: ``[queries]``.
        key_positions: ``[keys]``.

    Returns:
        ``[queries, keys]``, bool, True where the key is hidden.
    """
    return key_positions > query_positions.unsqueeze(-1)


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which each token attends to itself and to earlier tokens.

    With ``num_kv_heads < num_heads``, consecutive query heads share a key and value head.

    Most encodings rotate a position by the same angle for ever. Then a key is rotated once, before it is cached. If the
    encoding depends on the length, the angle of every position changes when the sequence grows. Then the cache holds
    keys before rotation, and all of them are rotated again at each step. ``caches_rotated_keys`` says which is done;
    set it to the other value to see what goes wrong.

    ``PositionEncoding.embed`` is not called here, since it is applied once, before the first layer.

    Args:
        hidden_size: The size of the last dimension of input and output; a multiple of ``num_heads``.
        num_heads: Number of query heads.
        position: The encoding.
        num_kv_heads: Number of key and value heads, a divisor of ``num_heads``; by default ``num_heads``.

    Raises:
        ValueError: If ``hidden_size`` is not a multiple of ``num_heads``, or that not of ``num_kv_heads``.

    Source:
        Vaswani et al., section 3.2, arXiv:1706.03762v7; grouped queries as in Ainslie et al., section 2.2,
        arXiv:2305.13245v3.
    """

    def __init__(
        self, hidden_size: int, num_heads: int, position: PositionEncoding, num_kv_heads: int | None = None
    ) -> None:
        super().__init__()
        num_kv_heads = num_kv_heads or num_heads
        if hidden_size % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError(
                f"hidden_size={hidden_size}, num_heads={num_heads} and num_kv_heads={num_kv_heads}: "
                "each must be a multiple of the next."
            )
        self.head_dim = hidden_size // num_heads
        self.queries_per_key = num_heads // num_kv_heads
        self.position = position
        self.caches_rotated_keys = not position.depends_on_length
        self.query = nn.Linear(hidden_size, num_heads * self.head_dim, bias=False)
        self.key = nn.Linear(hidden_size, num_kv_heads * self.head_dim, bias=False)
        self.value = nn.Linear(hidden_size, num_kv_heads * self.head_dim, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        """Attend from new tokens to themselves and to the tokens in the cache.

        Args:
            x: The tokens that follow those in the cache, ``[batch, seq, hidden]``.
            cache: Keys and values of earlier tokens; those of ``x`` are appended. None if ``x`` is a whole sequence.

        Returns:
            ``[batch, seq, hidden]``.
        """
        cache = KeyValueCache() if cache is None else cache
        length = cache.length + x.shape[1]
        all_positions = torch.arange(length, device=x.device)
        positions = all_positions[cache.length :]

        queries, keys, values = (
            project(x).unflatten(-1, (-1, self.head_dim)) for project in (self.query, self.key, self.value)
        )  # [batch, seq, heads or kv_heads, head_dim]
        queries = self.position.rotate(queries, positions, length)
        if self.caches_rotated_keys:
            keys, values = cache.append(self.position.rotate(keys, positions, length), values)
        else:
            keys, values = cache.append(keys, values)
            keys = self.position.rotate(keys, all_positions, length)
        return self._attend(queries, keys, values, positions, all_positions)

    def _attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        keys, values = (part.repeat_interleave(self.queries_per_key, dim=2) for part in (keys, values))
        logits = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / math.sqrt(self.head_dim)
        bias = self.position.bias(query_positions, key_positions)
        if bias is not None:
            logits = logits + bias.to(logits)
        logits = logits.masked_fill(causal_mask(query_positions, key_positions), -math.inf)
        mixed = torch.einsum("bhqk,bkhd->bqhd", logits.softmax(dim=-1), values)
        attended: Tensor = self.output(mixed.flatten(-2))  # [batch, seq, heads * head_dim] -> [batch, seq, hidden]
        return attended
