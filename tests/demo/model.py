"""A language model of half a million weights, with places for the layers that students write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Sizes:
    """What the checkpoint was trained with.

    Attributes:
        vocab: Characters that the model knows.
        hidden: Features of a token.
        heads: Attention heads of a block; each has ``hidden // heads`` features.
        blocks: Transformer blocks.
        inner: Features between the two linear layers of a block.
        trained: The longest sequence in training.
        base: Of the rotary embedding.
        eps: Of the norms.
    """

    vocab: int
    hidden: int
    heads: int
    blocks: int
    inner: int
    trained: int
    base: int
    eps: float

    @property
    def head_dim(self) -> int:
        """Features of a head, which are also a group of each norm."""
        return self.hidden // self.heads

    @property
    def norms(self) -> int:
        """How many norms there are: two in a block, and a last one."""
        return 2 * self.blocks + 1


@dataclass(frozen=True)
class Slots:
    """The layers that a model is handed.

    Attributes:
        embed: From ids ``[b, s]`` to ``[b, s, hidden]``.
        norms: As many as ``Sizes.norms``, each from ``[b, s, hidden]`` to the same shape.
        positions: Puts positions into queries and keys, ``[b, s, heads, head_dim]``.
    """

    embed: Layer
    norms: list[Layer]
    positions: Layer


class LanguageModel(nn.Module):
    """Predicts the next character from those before it.

    Args:
        sizes: Of the checkpoint.
        slots: Embedding, norms and positions.
    """

    def __init__(self, sizes: Sizes, slots: Slots) -> None:
        """Make the linear layers; their weights come from the checkpoint, or from training."""
        super().__init__()
        self.sizes, self.slots = sizes, slots
        hidden, inner, blocks = sizes.hidden, sizes.inner, range(sizes.blocks)
        self.qkv = nn.ModuleList(nn.Linear(hidden, 3 * hidden, bias=False) for _ in blocks)
        self.out = nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in blocks)
        self.wide = nn.ModuleList(nn.Linear(hidden, inner, bias=False) for _ in blocks)
        self.back = nn.ModuleList(nn.Linear(inner, hidden, bias=False) for _ in blocks)
        self.head = nn.Linear(hidden, sizes.vocab, bias=False)

    def forward(self, ids: Tensor, last: int = 0) -> Tensor:
        """Scores of each next character, ``[b, s, vocab]``, for ids ``[b, s]``; only the ``last`` ones if not 0."""
        x = self.slots.embed(ids)
        for block in range(self.sizes.blocks):
            before, between = self.slots.norms[2 * block : 2 * block + 2]
            x = x + self._attention(block, before(x))
            x = x + self.back[block](functional.gelu(self.wide[block](between(x))))
        return self.head(self.slots.norms[-1](x)[:, -last:])

    def _attention(self, block: int, x: Tensor) -> Tensor:
        queries, keys, values = (self._heads(part) for part in self.qkv[block](x).chunk(3, dim=-1))
        queries, keys = self.slots.positions(queries), self.slots.positions(keys)
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), is_causal=True
        )
        return self.out[block](mixed.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        """``[b, s, hidden]`` as ``[b, s, heads, head_dim]``."""
        return x.unflatten(-1, (self.sizes.heads, -1))
