"""Task 1: RMSNorm over groups of features."""

import torch
from torch import Tensor, nn


class GroupRMSNorm(nn.Module):
    """Divide each group of features by its root mean square, then scale every feature by its own gamma.

    The hidden dimension ``h`` splits into ``h / gz`` consecutive groups of ``gz`` features::

        rms = sqrt(mean(x ** 2) + eps)      one number for each token and group, eps under the root
        y   = x / rms * gamma               gamma has one element for each of the h features

    Args:
        hidden_size: ``h``, the size of the last dimension of the input.
        group_size: ``gz``, the number of features in one group; divides ``hidden_size``.
        eps: Added to the mean square, under the root.
        init_range: Lower and upper bound of the uniform distribution that gamma is drawn from.
        init_seed: Seed of that draw.
        dtype: Dtype of gamma; the input's may differ.
        device: Device of gamma; the input's may differ.

    Raises:
        ValueError: If ``group_size`` does not divide ``hidden_size``; the message names both numbers.

    Source:
        Zhang and Sennrich, Root Mean Square Layer Normalization, section 4, arXiv:1910.07467.
    """

    def __init__(
        self,
        hidden_size: int,
        group_size: int,
        eps: float = 1e-5,
        init_range: tuple[float, float] = (-1.0, 1.0),
        init_seed: int = 42,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Register gamma, the only parameter (``h`` elements, no buffers), and initialise it."""
        super().__init__()
        if hidden_size % group_size != 0:
            raise ValueError(
                f"hidden_size={hidden_size} does not split into groups of group_size={group_size}. "
                "Choose a group_size that divides hidden_size."
            )
        self.group_size = group_size
        self.eps = eps
        self.init_range = init_range
        self.init_seed = init_seed
        self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw gamma from the uniform distribution over ``init_range``, seeded with ``init_seed``.

        Calling it again gives the same values. The draw is made on gamma's own device: a seed gives other numbers on a
        GPU than on the CPU.
        """
        generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
        nn.init.uniform_(self.gamma, *self.init_range, generator=generator)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise every group of every token.

        Compute in float32 or better: convert before squaring. Do not modify ``input``; it may be non-contiguous.

        Args:
            input: ``[b, s, h]``, any float dtype.

        Returns:
            ``[b, s, h]``, with the dtype and device of ``input``, whatever gamma's are. Gamma stays where it is.
        """
        # Squares of 16-bit numbers overflow above 256 and vanish below 2^-12, so convert first.
        compute_dtype = torch.promote_types(input.dtype, torch.float32)
        groups: Tensor = input.to(compute_dtype).unflatten(-1, (-1, self.group_size))  # [b, s, h/gz, gz]
        mean_square = groups.square().mean(dim=-1, keepdim=True)  # [b, s, h/gz, 1]
        normalised = groups / torch.sqrt(mean_square + self.eps)
        return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)  # [b, s, h]
