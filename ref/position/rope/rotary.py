"""RoPE as a ``PositionEncoding``, which an attention layer can use."""

from collections.abc import Callable

from torch import Tensor

from ..angles import rotary_angles
from ..encoding import PositionEncoding
from ..scaling.scaled import Scaled
from .half_split import rotate_half_split


class Rotary(PositionEncoding):
    """Rotates queries and keys. Their products then depend only on their distance, since ``R_m^T R_n = R_{n-m}``.

    Args:
        frequencies: The result of a scaling, such as ``no_scaling(64)``. For a scaling that depends on the length of
            the sequence, a function of the length, such as
            ``lambda length: dynamic_scaling(64, length=length, original_length=512)``.
        rotate: The implementation; its layout of pairs must be that with which the checkpoint was trained.
    """

    def __init__(
        self,
        frequencies: Scaled | Callable[[int], Scaled],
        rotate: Callable[[Tensor, Tensor, float], Tensor] = rotate_half_split,
    ) -> None:
        super().__init__()
        # Not buffers: module.to(torch.bfloat16) would round the frequencies, and so spoil angles of large positions.
        self._frequencies = frequencies
        self._rotate = rotate

    @property
    def depends_on_length(self) -> bool:
        """True if the frequencies are a function of the length."""
        return not isinstance(self._frequencies, Scaled)

    def rotate(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        """Rotate queries or keys by the angles of their positions; see ``PositionEncoding.rotate``."""
        scaled = self._frequencies if isinstance(self._frequencies, Scaled) else self._frequencies(length)
        angles = rotary_angles(positions, scaled.inverse_frequencies.to(x.device))
        return self._rotate(x, angles, scaled.attention_factor)
