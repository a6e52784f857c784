"""Task 2 (bonus): the gated feed-forward layer."""

import torch
from torch import Tensor, nn


class SwiGLU(nn.Module):
    """Let one projection of the input decide how much of another one passes.

    With ``silu(z) = z * sigmoid(z)``::

        y = (silu(x gate^T) * (x up^T)) down^T

    Its parameters are ``gate`` and ``up``, ``[f, h]`` each, and ``down``, ``[h, f]``, in this order and float32; there
    are no biases.

    Args:
        hidden_size: ``h``, the size of the last dimension of the input.
        ff_size: ``f``, the number of features in between.
        init_std: Standard deviation of the normal distribution that the parameters are drawn from; its mean is zero.
        init_seed: Seed of these draws.

    Source:
        Shazeer, GLU Variants Improve Transformer, section 2, arXiv:2002.05202.
    """

    def __init__(self, hidden_size: int, ff_size: int, init_std: float = 0.02, init_seed: int = 42) -> None:
        """Register the three matrices and initialise them."""
        super().__init__()
        self.init_std, self.init_seed = init_std, init_seed
        self.gate = nn.Parameter(torch.empty(ff_size, hidden_size))
        self.up = nn.Parameter(torch.empty(ff_size, hidden_size))
        self.down = nn.Parameter(torch.empty(hidden_size, ff_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Seed once with ``init_seed``, then draw ``gate``, ``up`` and ``down``, one after the other.

        Calling it again gives the same values.
        """
        generator = torch.Generator(self.gate.device).manual_seed(self.init_seed)
        for matrix in (self.gate, self.up, self.down):
            nn.init.normal_(matrix, std=self.init_std, generator=generator)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to every token.

        Args:
            input: ``[b, s, h]``, float32, on the device of the parameters.

        Returns:
            ``[b, s, h]``, float32, on the same device.
        """
        gate = nn.functional.silu(input @ self.gate.mT)  # [b, s, f]
        return (gate * (input @ self.up.mT)) @ self.down.mT
