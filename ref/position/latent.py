"""Multi-head latent attention (MLA): what is cached is a small vector for each token, and one rotated key."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .angles import rotary_angles
from .attention import causal_mask
from .rope import rotate_adjacent
from .scaling import Scaled


class LatentAttention(nn.Module):
    """Causal attention whose keys and values are made from a latent vector, with positions in features of their own.

    A score has two parts, content and position. The key of content is ``U c`` with a latent vector ``c`` and a matrix
    ``U``, so ``q . U c = (U^T q) . c``: queries can be taken to the latent space, and only ``c`` is cached. A rotation
    between query and key would forbid that, since ``U^T R_{m-n}`` is another matrix for each distance. So positions
    have ``rotary_dim`` features of their own: one rotated key, shared by all heads, is cached beside ``c``.

    Args:
        hidden_size: The size of the last dimension of input and output.
        num_heads: Number of heads.
        content_dim: Features of each head that are not rotated, in queries, keys and values.
        rotary_dim: Features that are rotated, in each query, and in the key that all heads share; even.
        latent_dim: The size of ``c``.
        frequencies: Of the rotated pairs.

    Source:
        DeepSeek-AI, DeepSeek-V2, sections 2.1.2 and 2.1.3, arXiv:2405.04434v5; ``DeepseekV3Attention`` in transformers
        v5.23.0, models/deepseek_v3/modeling_deepseek_v3.py, which pairs adjacent features, too.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        content_dim: int,
        rotary_dim: int,
        latent_dim: int,
        frequencies: Scaled,
    ) -> None:
        super().__init__()
        self.num_heads, self.content_dim, self.rotary_dim = num_heads, content_dim, rotary_dim
        self.frequencies = frequencies
        self.query = nn.Linear(hidden_size, num_heads * (content_dim + rotary_dim), bias=False)
        self.down = nn.Linear(hidden_size, latent_dim + rotary_dim, bias=False)
        self.norm = nn.RMSNorm(latent_dim, eps=1e-6)
        self.up = nn.Linear(latent_dim, num_heads * 2 * content_dim, bias=False)
        self.output = nn.Linear(num_heads * content_dim, hidden_size, bias=False)

    def compress(self, x: Tensor, positions: Tensor) -> Tensor:
        """What the cache holds.

        Args:
            x: ``[batch, seq, hidden]``.
            positions: ``[seq]``.

        Returns:
            ``[batch, seq, latent_dim + rotary_dim]``: the latent vector, and the rotated key.
        """
        latent, key = self.down(x).split((self.norm.normalized_shape[0], self.rotary_dim), dim=-1)
        return torch.cat((self.norm(latent), self._rotate(key.unsqueeze(2), positions).squeeze(2)), dim=-1)

    def forward(self, x: Tensor, cached: Tensor | None = None) -> Tensor:
        """Attend from the last tokens to themselves and to those before them.

        Args:
            x: The last tokens, ``[batch, seq, hidden]``.
            cached: Of all tokens, those of ``x`` included, from ``compress``; by default ``x`` is all there is.

        Returns:
            ``[batch, seq, hidden]``.
        """
        cached = self.compress(x, torch.arange(x.shape[1], device=x.device)) if cached is None else cached
        every = torch.arange(cached.shape[1], device=x.device)
        positions = every[-x.shape[1] :]
        latent, rotary_keys = cached[..., : -self.rotary_dim], cached[..., -self.rotary_dim :]
        up = self.up.weight.view(self.num_heads, 2, self.content_dim, -1)
        up_keys, up_values = up.unbind(1)  # [heads, content_dim, latent_dim] each

        queries = self.query(x).unflatten(-1, (self.num_heads, -1))
        content, rotary = queries.split((self.content_dim, self.rotary_dim), dim=-1)
        rotary = self._rotate(rotary, positions)
        absorbed = torch.einsum("bqhd,hdc->bqhc", content, up_keys)  # queries, in the space of the latent vectors
        logits = torch.einsum("bqhc,bkc->bhqk", absorbed, latent) + torch.einsum("bqhr,bkr->bhqk", rotary, rotary_keys)
        logits = logits / math.sqrt(self.content_dim + self.rotary_dim)
        weights = logits.masked_fill(causal_mask(positions, every), -math.inf).softmax(dim=-1)
        mixed = torch.einsum("bhqk,bkc,hdc->bqhd", weights, latent, up_values)
        attended: Tensor = self.output(mixed.flatten(-2))
        return attended

    def _rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = rotary_angles(positions, self.frequencies.inverse_frequencies.to(x.device))
        return rotate_adjacent(x, angles, self.frequencies.attention_factor)
