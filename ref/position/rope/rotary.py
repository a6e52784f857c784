"""RoPE as an encoding that an attention layer takes."""

from collections.abc import Callable

from torch import Tensor

from ..angles import rotary_angles
from ..encoding import PositionEncoding
from ..scaling.scaled import Scaled
from .half_split import rotate_half_split


class Rotary(PositionEncoding):
    """Rotates queries and keys; their products then depend on the distance alone, since ``R_m^T R_n = R_{n-m}``.

    Args:
        frequencies: What a scaling gives, such as ``no_scaling(64)``. For one that changes with the length of the
            sequence, a function of the length, such as
            ``lambda length: dynamic_scaling(64, length=length, original_length=512)``.
        rotate: The implementation; pairs are part of what a checkpoint has learnt.
    """

    def __init__(
        self,
        frequencies: Scaled | Callable[[int], Scaled],
        rotate: Callable[[Tensor, Tensor, float], Tensor] = rotate_half_split,
    ) -> None:
        super().__init__()
        # No buffers: module.to(torch.bfloat16) would round the frequencies, and angles far out would be noise.
        self._frequencies = frequencies
        self._rotate = rotate

    @property
    def depends_on_length(self) -> bool:
        """True if the frequencies are a function of the length."""
        return not isinstance(self._frequencies, Scaled)

    def rotate(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        """Turn queries or keys by their positions; see ``PositionEncoding.rotate``."""
        scaled = self._frequencies if isinstance(self._frequencies, Scaled) else self._frequencies(length)
        angles = rotary_angles(positions, scaled.inverse_frequencies.to(x.device))
        return self._rotate(x, angles, scaled.attention_factor)
