"""Encodings that are a vector for each position, added to the token embedding."""

from collections.abc import Callable

from torch import Tensor

from .encoding import PositionEncoding


class Additive(PositionEncoding):
    """Adds ``encode(positions, hidden)`` to the token embeddings.

    Args:
        encode: A function from positions, ``[seq]``, and a number of features to ``[seq, features]``, such as
            ``integer_encoding``, ``binary_encoding`` or ``sinusoidal_encoding``.
    """

    def __init__(self, encode: Callable[[Tensor, int], Tensor]) -> None:
        super().__init__()
        self.encode = encode

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add to every token the encoding of its position; see ``PositionEncoding.embed``."""
        return x + self.encode(positions, x.shape[-1]).to(x)
