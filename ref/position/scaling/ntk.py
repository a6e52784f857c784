"""NTK-aware scaling: a larger base, which slows down the slow pairs and hardly changes the fast ones."""

from ...modeling.pos_emb import _ntk_base  # the same formula as in task 4
from ..angles import inverse_frequencies
from .scaled import Scaled


def ntk_scaling(dim: int, base: float = 10000.0, *, factor: float) -> Scaled:
    """``b' = b * k ** (d / (d - 2))``: pair 0 turns as before, the last pair ``k`` times slower.

    Why this exponent: ``theta_i' = b' ** (-2 * i / d)``, and the last pair has ``i = d/2 - 1``, so its frequency is
    divided by ``(b'/b) ** ((d - 2) / d) = k``. The pairs between are slowed down by less than ``k``, so some of them
    reach angles that did not occur in training: a factor of 8 does not give 8 times the context.

    Args:
        dim: ``d``, the head dimension, even and above 2.
        base: ``b``, the base used in training.
        factor: ``k``.

    Source:
        Peng et al., YaRN, section 3.1, arXiv:2309.00071v2, on a proposal of the user bloc97.
    """
    return Scaled(inverse_frequencies(dim, _ntk_base(base, dim, factor)))
