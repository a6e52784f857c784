"""The three places at which positions can enter a transformer."""

from torch import Tensor, nn


class PositionEncoding(nn.Module):
    """Hooks that a decoder calls; each encoding overrides the one it needs, and the others do nothing.

    Positions are integers, ``[seq]``, on the device of the features, and need not start at 0: with a key cache, or in
    the middle of a text, they do not.
    """

    @property
    def depends_on_length(self) -> bool:
        """Whether ``rotate`` gives the same position another angle once the sequence has grown."""
        return False

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Change token embeddings, once, before the first layer.

        Args:
            x: ``[batch, seq, hidden]``.
            positions: ``[seq]``.

        Returns:
            ``[batch, seq, hidden]``.
        """
        del positions
        return x

    def rotate(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        """Change queries or keys, in every layer. Values stay: what a token says does not depend on where it stands.

        Args:
            x: ``[batch, seq, heads, head_dim]``.
            positions: ``[seq]``.
            length: Number of positions seen so far, those in a cache included.

        Returns:
            ``[batch, seq, heads, head_dim]``.
        """
        del positions, length
        return x

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """What to add to the attention logits, in every layer.

        Args:
            query_positions: ``[queries]``.
            key_positions: ``[keys]``.

        Returns:
            ``[heads, queries, keys]``, or None for nothing.
        """
        del query_positions, key_positions
        return None
