"""Task 1: causal self-attention with rotary position embedding."""

from torch import Tensor, nn


class CausalSelfAttention(nn.Module):
    """Let every token gather from itself and from the tokens before it, in several heads.

    The ``h`` features of queries, keys and values split into ``nh`` heads of ``hd`` consecutive ones. In each head::

        q = x query^T, k = x key^T, v = x value^T    [b, s, hd]: this head's features
        q, k turned by their positions               position n turns (q_i, q_{i + hd/2}) by n * base^(-2i/hd)
        p = softmax(q k^T / sqrt(hd))                over the keys at the query's own position and before it
        y = p v                                      [b, s, hd]

    The heads' results stand side by side again, ``[b, s, h]``, and are multiplied with ``output^T``.

    Its parameters are ``query``, ``key``, ``value`` and ``output``, in this order, ``[h, h]`` and float32 each; there
    are no biases. How they are initialised is up to you.

    Args:
        hidden_size: ``h``, the size of the last dimension of the input.
        heads: ``nh``; divides ``hidden_size`` into heads of an even number of features.
        base: Of the angles.

    Source:
        Vaswani et al., Attention Is All You Need, section 3.2, arXiv:1706.03762; Su et al., RoFormer, section 3.4.2,
        arXiv:2104.09864, with pairs as in the Hugging Face layout of Llama's weights.
    """

    def __init__(self, hidden_size: int, heads: int, base: float = 10000.0) -> None:
        """Register the four matrices."""
        super().__init__()
        # TODO(task 1): register the four matrices.
        raise NotImplementedError("Task 1: CausalSelfAttention.__init__")

    def forward(self, input: Tensor) -> Tensor:
        """Attend.

        Args:
            input: ``[b, s, h]``, float32, on the device of the parameters.

        Returns:
            ``[b, s, h]``, float32, on the same device.
        """
        # TODO(task 1): project, turn queries and keys, attend in every head, put the heads together.
        raise NotImplementedError("Task 1: CausalSelfAttention.forward")
