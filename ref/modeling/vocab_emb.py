"""Tasks 2 and 3: the vocabulary embedding, whole and split over ranks."""

import torch
from torch import Tensor, nn


class VocabEmbedding(nn.Module):
    """Look up the row of a learnable table for every token id.

    Args:
        vocab_size: ``v``, the number of rows.
        emb_size: ``e``, the length of a row.
        init_mean: Mean of the normal distribution that the table is drawn from.
        init_std: Standard deviation of that distribution.
        init_seed: Seed of that draw.
        dtype: Dtype of the table, and so of the output.
        device: Device of the table; that of the ids may differ.
    """

    def __init__(
        self,
        vocab_size: int,
        emb_size: int,
        init_mean: float = 0.0,
        init_std: float = 1.0,
        init_seed: int = 42,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Register the table ``T: [v, e]``, the only parameter, and initialise it."""
        super().__init__()
        self.init_mean = init_mean
        self.init_std = init_std
        self.init_seed = init_seed
        self.table = nn.Parameter(torch.empty(vocab_size, emb_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from the normal distribution (``init_mean``, ``init_std``), seeded with ``init_seed``.

        Calling it again gives the same values. The draw is made on the table's own device: a seed gives other numbers
        on a GPU than on the CPU.
        """
        generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
        nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Give every id its row, bit for bit.

        Gradients add up over repeated ids, and id 0 is an ordinary id. Modify neither ``input_ids`` nor the table.

        Args:
            input_ids: ``[b, s]``, int64, each in ``0 .. v - 1``.

        Returns:
            ``[b, s, e]``, with the dtype of the table and the device of ``input_ids``. The table stays where it is.
        """
        return nn.functional.embedding(input_ids, self.table.to(input_ids.device))


class ParallelVocabEmbedding(nn.Module):
    """One rank's part of an embedding table that is split evenly over ``w`` ranks.

    With ``n = v / w``, rank ``r`` owns the ids ``r * n .. (r + 1) * n - 1``, both ends included. The module does not
    communicate: summed over all ranks, the outputs are the full embedding.

    Args:
        vocab_size: ``v``, the number of rows of the whole table; a multiple of ``world_size``.
        emb_size: ``e``, the length of a row.
        rank: ``r``, in ``0 .. w - 1``.
        world_size: ``w``, the number of ranks.
        init_mean: Mean of the normal distribution that the shard is drawn from.
        init_std: Standard deviation of that distribution.
        init_base_seed: The shard is seeded with ``init_base_seed + rank``.
        dtype: Dtype of the shard, and so of the output.
        device: Device of the shard; that of the ids may differ.

    Raises:
        ValueError: If ``world_size`` does not divide ``vocab_size``; the message names both numbers.

    Source:
        Shoeybi et al., Megatron-LM, section 3, arXiv:1909.08053.
    """

    def __init__(
        self,
        vocab_size: int,
        emb_size: int,
        rank: int = 0,
        world_size: int = 1,
        init_mean: float = 0.0,
        init_std: float = 1.0,
        init_base_seed: int = 42,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Register this rank's shard ``T_r: [v/w, e]``, the only parameter, and initialise it."""
        super().__init__()
        if vocab_size % world_size != 0:
            raise ValueError(
                f"vocab_size={vocab_size} does not divide over world_size={world_size}. "
                "Choose a vocab_size that is a multiple of world_size."
            )
        rows = vocab_size // world_size
        self.first_id = rank * rows
        self.init_mean = init_mean
        self.init_std = init_std
        self.init_seed = init_base_seed + rank
        self.shard = nn.Parameter(torch.empty(rows, emb_size, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the shard from the normal distribution (``init_mean``, ``init_std``), seeded for this rank.

        Calling it again gives the same values. The draw is made on the shard's own device: a seed gives other numbers
        on a GPU than on the CPU.
        """
        generator = torch.Generator(self.shard.device).manual_seed(self.init_seed)
        nn.init.normal_(self.shard, self.init_mean, self.init_std, generator=generator)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Give every owned id its row, bit for bit, and every other id exactly zero.

        Gradients add up over repeated owned ids; other ids send none. Modify neither ``input_ids`` nor the shard.

        Args:
            input_ids: ``[b, s]``, int64, each in ``0 .. v - 1``.

        Returns:
            ``[b, s, e]``, with the dtype of the shard and the device of ``input_ids``. The shard stays where it is.
        """
        rows = input_ids - self.first_id  # [b, s], outside 0 .. n-1 for ids of other ranks
        foreign = (rows < 0) | (rows >= self.shard.shape[0])
        embedded = nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device))
        return embedded.masked_fill(foreign.unsqueeze(-1), 0)
