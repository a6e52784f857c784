"""Task 2 (bonus): the gated feed-forward layer."""

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
        # TODO(task 2): register the three matrices, then call reset_parameters.
        raise NotImplementedError("Task 2: SwiGLU.__init__")

    def reset_parameters(self) -> None:
        """Seed once with ``init_seed``, then draw ``gate``, ``up`` and ``down``, one after the other.

        Calling it again gives the same values.
        """
        # TODO(task 2): seed, then draw the three matrices.
        raise NotImplementedError("Task 2: SwiGLU.reset_parameters")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to every token.

        Args:
            input: ``[b, s, h]``, float32, on the device of the parameters.

        Returns:
            ``[b, s, h]``, float32, on the same device.
        """
        # TODO(task 2): let the gate decide how much passes.
        raise NotImplementedError("Task 2: SwiGLU.forward")
