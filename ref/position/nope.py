"""NoPE: no position encoding."""

from .encoding import PositionEncoding


class NoPE(PositionEncoding):
    """Adds nothing anywhere.

    Attention alone is permutation equivariant, so an encoder without positions reads a bag of words. A causal mask
    breaks the symmetry: the token at position ``p`` averages over ``p + 1`` values, and later layers can read that
    count.

    Source:
        Kazemnejad et al., section 3, arXiv:2305.19466v2; Haviv et al., arXiv:2203.16634v2.
    """
