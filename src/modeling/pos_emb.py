"""Task 4, second part: rotary position embedding with NTK-aware scaling."""

import torch
from torch import Tensor, nn

from ..functional import apply_rotary_pos_emb  # noqa: F401 - forward calls it


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
        # TODO(task 4): compute the tables [es, hd] and register them as non-persistent buffers.
        raise NotImplementedError("Task 4: NTKAwareRoPE.__init__")

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
        # TODO(task 4): choose the tables for s positions, then call apply_rotary_pos_emb.
        raise NotImplementedError("Task 4: NTKAwareRoPE.forward")
