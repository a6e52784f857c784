"""A learned vector for each position."""

from torch import Tensor

from ..modeling import VocabEmbedding
from .encoding import PositionEncoding


class LearnedEncoding(PositionEncoding):
    """A table with a row for each position, trained like any other weight.

    This is the vocabulary embedding with positions as ids. There is no row for a position of ``max_len`` or more, and
    rows of positions that do not occur in training keep their initial values.

    Args:
        max_len: Number of positions.
        dim: Number of features.
        init_std: Standard deviation of the first values; 0.02 as in GPT-2.

    Source:
        Gehring et al., section 3.1, arXiv:1705.03122v3; Devlin et al., BERT, section 3, arXiv:1810.04805v2.
    """

    def __init__(self, max_len: int, dim: int, init_std: float = 0.02) -> None:
        super().__init__()
        self.max_len = max_len
        self.rows = VocabEmbedding(max_len, dim, init_std=init_std)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add to every token the row of its position; see ``PositionEncoding.embed``.

        Raises:
            ValueError: If a position is ``max_len`` or more.
        """
        last = int(positions.max())
        if last >= self.max_len:
            raise ValueError(
                f"position {last} has no row in a learned table of max_len={self.max_len}. "
                "Choose an encoding that is a rule if sequences may grow."
            )
        rows: Tensor = self.rows(positions.unsqueeze(0))  # [1, seq, dim]
        return x + rows.to(x)
