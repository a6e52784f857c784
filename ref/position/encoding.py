"""The interface of all position encodings: three hooks, where a transformer can use positions; and none, NoPE."""

from torch import Tensor, nn


class PositionEncoding(nn.Module):
    """Hooks that a decoder calls. Each encoding overrides the hook that it needs; the others do nothing by default.

    Positions are integers, ``[seq]``, on the device of the features. They need not start at 0: the first new token
    after those in a key cache has a later position.
    """

    @property
    def depends_on_length(self) -> bool:
        """Whether ``rotate`` uses another angle for the same position when the sequence has become longer."""
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
        """Change queries or keys, in every layer. Values do not change: they hold content, not positions.

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
        """The bias to add to the attention logits, in every layer.

        Args:
            query_positions: ``[queries]``.
            key_positions: ``[keys]``.

        Returns:
            ``[heads, queries, keys]``, or None for nothing.
        """
        del query_positions, key_positions
        return None


class NoPE(PositionEncoding):
    """No encoding: all hooks do nothing.

    Attention alone is permutation equivariant, so an encoder without positions does not know the order of tokens. In a
    decoder the causal mask depends on the order: the token at position ``p`` averages over ``p + 1`` values, and later
    layers can make use of that number.

    Source:
        Kazemnejad et al., section 5, arXiv:2305.19466v2; Haviv et al., arXiv:2203.16634v2.
    """
