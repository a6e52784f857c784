"""NoPE: no position encoding."""

from .encoding import PositionEncoding


class NoPE(PositionEncoding):
    """No encoding: all hooks do nothing.

    Attention alone is permutation equivariant, so an encoder without positions does not know the order of tokens. In a
    decoder the causal mask depends on the order: the token at position ``p`` averages over ``p + 1`` values, and later
    layers can make use of that number.

    Source:
        Kazemnejad et al., section 5, arXiv:2305.19466v2; Haviv et al., arXiv:2203.16634v2.
    """
