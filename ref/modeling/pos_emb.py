"""Task 4, second part: rotary position embedding with NTK-aware scaling."""

import torch
from torch import Tensor, nn

from ..functional import apply_rotary_pos_emb


def _ntk_base(base: float, dim: int, ratio: float) -> float:
    """The scaled base ``base'`` at the ratio ``k``; private, since the assignment does not ask for this name."""
    return base * ratio ** (dim / (dim - 2)) if ratio > 1 else base


class NTKAwareRoPE(nn.Module):
    """Rotary position embedding whose base grows with the context length.

    Trained on sequences of at most ``ms`` positions, scaled by ``k`` to ``es = ms * k`` positions::

        base' = base * k ** (hd / (hd - 2))         the highest frequency stays, the lowest is divided by exactly k
        theta_i = base' ** (-2 * i / hd)            i = 0 .. hd/2 - 1
        angle of position n and pair i = n * theta_i

    The tables ``cos`` and ``sin``, ``[es, hd]``, are non-persistent buffers: they follow ``module.to(device)``, also
    after growth, and never appear in ``state_dict()``. There are no parameters.

    Args:
        dim: ``hd``, the head dimension: even, and more than 2 if ``k > 1``, as ``base'`` divides by ``hd - 2``.
        max_seq_len: ``ms``, the longest training sequence.
        base: The base at ``k = 1``.
        ratio: ``k``, the initial scaling ratio, even or odd.
        dynamic: Whether a longer sequence changes the module for good; see ``forward``.
        dtype: Dtype of the tables.
        device: Device of the tables; if the input's differs, torch may refuse.

    Source:
        Su et al., RoFormer, section 3.2.2, arXiv:2104.09864; NTK-aware scaling as in Peng et al., YaRN, section 3.1,
        arXiv:2309.00071.
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        dim: int,
        max_seq_len: int,
        base: int = 10000,
        ratio: int = 1,
        dynamic: bool = False,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Compute and register the tables for ``es = max_seq_len * ratio`` positions."""
        super().__init__()
        self.dim = dim
        self.max_seq_len = max_seq_len
        self.base = base
        self.dynamic = dynamic
        cos, sin = self._tables(ratio, dtype, torch.device(device))
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def _tables(self, ratio: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
        """Cosines and sines for ``max_seq_len * ratio`` positions, each ``[es, hd]``."""
        base = _ntk_base(self.base, self.dim, ratio)
        exponents = torch.arange(0, self.dim, 2, dtype=torch.float32, device=device) / self.dim
        positions = torch.arange(self.max_seq_len * ratio, dtype=torch.float32, device=device)
        angles = torch.outer(positions, base**-exponents)  # [es, hd/2], in float32 whatever dtype the tables have
        angles = torch.cat((angles, angles), dim=-1)  # [es, hd], both members of a pair share an angle
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Rotate queries or keys by their positions ``0 .. s - 1``, through ``apply_rotary_pos_emb``.

        Up to ``es`` positions the cached tables serve. A longer sequence recomputes them with the smallest even ``k'``
        such that ``ms * k' >= s``. With ``dynamic=True`` the module keeps ``k'``, its tables and its ``es`` from then
        on; otherwise they serve this one call.

        Args:
            input: ``[b, s, nh, hd]``, any float dtype. Not modified.

        Returns:
            ``[b, s, nh, hd]``, with the dtype and device of ``input``.
        """
        seq_len = input.shape[1]
        cos, sin = self.cos, self.sin
        if seq_len > cos.shape[0]:
            ratio = 2 * -(-seq_len // (2 * self.max_seq_len))  # rounded up to the next even number
            cos, sin = self._tables(ratio, cos.dtype, cos.device)
            if self.dynamic:
                self.cos, self.sin = cos, sin
        return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])
