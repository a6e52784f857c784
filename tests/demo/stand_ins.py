"""What stands in for a layer that is still to write: ordinary layers of torch, with weights of their own.

None of them is a solution of a task. The norm is a LayerNorm over all features, fitted to this model, which then
speaks a little worse. For positions there is a matrix for each, in a basis that is drawn at random: attention only sees
products of queries and keys, which are the same in every basis.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .checkpoint import Checkpoint
from .model import Layer


def norms(checkpoint: Checkpoint) -> list[Layer]:
    """A LayerNorm in the place of each norm."""
    layers: list[Layer] = []
    for place in range(checkpoint.sizes.norms):
        layer = nn.LayerNorm(checkpoint.sizes.hidden, checkpoint.sizes.eps)
        layer.load_state_dict({name: checkpoint.tensors[f"plain.{name}"][place] for name in ("weight", "bias")})
        layers.append(layer)
    return layers


def embedding(checkpoint: Checkpoint) -> Layer:
    """The embedding that comes with torch."""
    return nn.Embedding.from_pretrained(checkpoint.tensors["table"])


class Positions:
    """Multiplies queries and keys by a matrix for their position; it knows no scaling."""

    def __init__(self, checkpoint: Checkpoint, length: int) -> None:
        """Make the matrices of ``length`` positions, each from the one before."""
        step = checkpoint.tensors["positions.step"].double()
        matrices = [checkpoint.tensors["positions.first"].double()]
        while len(matrices) < length:
            matrices.append(matrices[-1] @ step)
        self._matrices = torch.stack(matrices).float()  # [length, head_dim, head_dim]

    def __call__(self, x: Tensor) -> Tensor:
        """``[b, s, heads, head_dim]``, each position by its matrix."""
        return torch.einsum("bshd,sde->bshe", x, self._matrices[: x.shape[1]])
