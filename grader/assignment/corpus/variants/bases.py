"""The reference's classes cut into small steps, so that a variant can replace one step and leave the rest."""

import torch
from torch import Tensor, nn

from ref.functional import apply_rotary_pos_emb
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding


class NormInSteps(GroupRMSNorm):
    """Cuts the constructor into steps."""

    def __init__(
        self,
        hidden_size: int,
        group_size: int,
        eps: float = 1e-5,
        init_range: tuple[float, float] = (-1.0, 1.0),
        init_seed: int = 42,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Check the sizes, store the rest, register gamma and draw it."""
        nn.Module.__init__(self)
        self.check_sizes(hidden_size, group_size)
        self.group_size, self.eps, self.init_range, self.init_seed = group_size, eps, init_range, init_seed
        self.register_gamma(torch.empty(hidden_size, dtype=dtype, device=device))
        self.reset_parameters()

    def check_sizes(self, hidden_size: int, group_size: int) -> None:
        """Raise for sizes that do not divide."""
        if hidden_size % group_size != 0:
            raise ValueError(f"hidden_size={hidden_size}, group_size={group_size}")

    def register_gamma(self, values: Tensor) -> None:
        """Make a parameter of ``values``, ``[h]``."""
        self.gamma = nn.Parameter(values)


class ShardInSteps(ParallelVocabEmbedding):
    """Cuts the constructor into steps."""

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
        """Check the sizes, store the rest, register the shard and draw it."""
        nn.Module.__init__(self)
        self.check_sizes(vocab_size, world_size)
        self.vocab_size, self.rank, self.world_size = vocab_size, rank, world_size
        self.init_mean, self.init_std = init_mean, init_std
        self.init_seed = self.choose_seed(init_base_seed)
        self.first_id = self.choose_first_id()
        self.register_shard(torch.empty(vocab_size // world_size, emb_size, dtype=dtype, device=device))
        self.reset_parameters()

    def check_sizes(self, vocab_size: int, world_size: int) -> None:
        """Raise for sizes that do not divide."""
        if vocab_size % world_size != 0:
            raise ValueError(f"vocab_size={vocab_size}, world_size={world_size}")

    def choose_seed(self, base_seed: int) -> int:
        """The seed of this rank."""
        return base_seed + self.rank

    def choose_first_id(self) -> int:
        """The smallest id that this rank owns."""
        return self.rank * (self.vocab_size // self.world_size)

    def register_shard(self, values: Tensor) -> None:
        """Make a parameter of ``values``, ``[v/w, e]``."""
        self.shard = nn.Parameter(values)


class RopeInSteps(NTKAwareRoPE):
    """Cuts the making of the tables and their growth into steps."""

    def scaled_base(self, ratio: int) -> float:
        """The base for one ratio."""
        return float(self.base * ratio ** (self.dim / (self.dim - 2)) if ratio > 1 else self.base)

    def exponents(self, device: torch.device) -> Tensor:
        """The exponents of the base, ``[hd/2]``, without their minus sign."""
        return torch.arange(0, self.dim, 2, dtype=torch.float32, device=device) / self.dim

    def positions(self, ratio: int, device: torch.device) -> Tensor:
        """The positions, ``[es]``."""
        return torch.arange(self.max_seq_len * ratio, dtype=torch.float32, device=device)

    def spread(self, angles: Tensor) -> Tensor:
        """From one angle for each pair, ``[es, hd/2]``, to one for each feature, ``[es, hd]``."""
        return torch.cat((angles, angles), dim=-1)

    def _tables(self, ratio: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
        frequencies = self.scaled_base(ratio) ** -self.exponents(device)
        angles = self.spread(torch.outer(self.positions(ratio, device), frequencies))
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def must_grow(self, seq_len: int) -> bool:
        """Whether the cached tables are too short."""
        return seq_len > self.cos.shape[0]

    def choose_ratio(self, seq_len: int) -> int:
        """The ratio of the tables for a longer sequence."""
        return 2 * -(-seq_len // (2 * self.max_seq_len))

    def keep(self, cos: Tensor, sin: Tensor) -> None:
        """What stays in the module of tables that have just been made."""
        if self.dynamic:
            self.cos, self.sin = cos, sin

    def forward(self, input: Tensor) -> Tensor:
        """Rotate by the tables that fit."""
        seq_len = input.shape[1]
        cos, sin = self.cos, self.sin
        if self.must_grow(seq_len):
            cos, sin = self._tables(self.choose_ratio(seq_len), cos.dtype, cos.device)
            self.keep(cos, sin)
        return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])
