"""NTKAwareRoPE, done right in other ways."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import RopeInSteps
from grader.specimens.variants import valid
from ref.functional import apply_rotary_pos_emb
from ref.modeling.pos_emb import NTKAwareRoPE


@valid("NTKAwareRoPE.choose_ratio", over=RopeInSteps)
def ratio_by_a_loop(self, seq_len):
    """Counts up in steps of two."""
    ratio = 2
    while self.max_seq_len * ratio < seq_len:
        ratio += 2
    return ratio


@valid("NTKAwareRoPE.choose_ratio", over=RopeInSteps)
def ratio_by_ceil(self, seq_len):
    """Rounds up, and adds one to odd numbers."""
    import math

    ratio = math.ceil(seq_len / self.max_seq_len)
    return ratio + ratio % 2


@valid("NTKAwareRoPE.choose_ratio", over=RopeInSteps)
def ratio_from_the_current_one(self, seq_len):
    """Goes on from the current ratio, made even, which is smaller than any that is enough."""
    ratio = self.cos.shape[0] // self.max_seq_len
    ratio -= ratio % 2
    while self.max_seq_len * ratio < seq_len:
        ratio += 2
    return ratio


@valid("NTKAwareRoPE.scaled_base", over=RopeInSteps)
def base_from_beta(self, ratio):
    """Scales beta = base^(2/hd) by k^(2/(hd-2)) and goes back to the base."""
    beta = self.base ** (2 / self.dim) * ratio ** (2 / (self.dim - 2))
    return beta ** (self.dim / 2)


@valid("NTKAwareRoPE", over=RopeInSteps)
class FrequenciesByExpAndLog(NTKAwareRoPE):
    """Writes the power as exp(-2i/hd * log(base'))."""

    def _tables(self, ratio, dtype, device):
        import math

        exponents = torch.arange(self.dim // 2, device=device, dtype=torch.float32) * (2 / self.dim)
        frequencies = torch.exp(-exponents * math.log(self.scaled_base(ratio)))
        angles = torch.einsum("n,i->ni", self.positions(ratio, device), frequencies).repeat(1, 2)
        return angles.cos().to(dtype), angles.sin().to(dtype)


@valid("NTKAwareRoPE", over=RopeInSteps)
class TablesInFloat64(NTKAwareRoPE):
    """Computes angles in double precision."""

    def _tables(self, ratio, dtype, device):
        exponents = torch.arange(0, self.dim, 2, dtype=torch.float64, device=device) / self.dim
        angles = self.positions(ratio, device).double()[:, None] * torch.pow(self.scaled_base(ratio), -exponents)
        angles = torch.cat([angles] * 2, dim=1)
        return torch.cos(angles).to(dtype), torch.sin(angles).to(dtype)


@valid("NTKAwareRoPE", over=RopeInSteps)
class TablesFromPolar(NTKAwareRoPE):
    """Takes cosine and sine from complex numbers of length one."""

    def _tables(self, ratio, dtype, device):
        frequencies = 1.0 / self.scaled_base(ratio) ** self.exponents(device)
        angles = self.spread(torch.outer(self.positions(ratio, device), frequencies))
        turns = torch.polar(torch.ones_like(angles), angles)
        return turns.real.to(dtype), turns.imag.to(dtype)


@valid("NTKAwareRoPE.forward")
def buffers_registered_again(self, input):
    """Registers the grown tables again, non-persistent as before."""
    seq_len = input.size(1)
    if seq_len <= self.cos.size(0):
        return apply_rotary_pos_emb(input, self.cos[:seq_len], self.sin[:seq_len])
    ratio = (seq_len + 2 * self.max_seq_len - 1) // (2 * self.max_seq_len) * 2
    tables = dict(zip(("cos", "sin"), self._tables(ratio, self.cos.dtype, self.cos.device), strict=True))
    if self.dynamic:
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)
    return apply_rotary_pos_emb(input, tables["cos"][:seq_len], tables["sin"][:seq_len])


@valid("NTKAwareRoPE")
class OneStackedBuffer(nn.Module):
    """Holds both tables in one buffer [2, es, hd] and stores k and es."""

    def __init__(
        self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, dtype=torch.float32, device="cpu", **unused
    ):
        super().__init__()
        self.dim, self.ms, self.base, self.k, self.dynamic = dim, max_seq_len, base, ratio, dynamic
        self.es = max_seq_len * ratio
        self.register_buffer("tables", self.make(ratio).to(dtype=dtype, device=device), persistent=False)

    def make(self, k):
        base = self.base * k ** (self.dim / (self.dim - 2))
        theta = base ** (-2 * torch.arange(self.dim // 2, dtype=torch.float64) / self.dim)
        angles = torch.arange(self.ms * k, dtype=torch.float64)[:, None] * theta.repeat(2)
        return torch.stack((angles.cos(), angles.sin()))

    def forward(self, input):
        seq_len = input.shape[1]
        tables = self.tables
        if seq_len > self.es:
            k = self.k
            while k * self.ms < seq_len or k % 2:
                k += 1
            tables = self.make(k).to(tables)
            if self.dynamic:
                self.k, self.es, self.tables = k, k * self.ms, tables
        return apply_rotary_pos_emb(input, *tables[:, :seq_len])


@valid("NTKAwareRoPE")
class TwoBuffersAndAFunction(nn.Module):
    """Has buffers of other names, one more for the frequencies, and an offset argument."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, dtype=torch.float32, device="cpu"):
        super().__init__()
        self.dim, self.max_seq_len, self.base, self.dynamic = dim, max_seq_len, base, dynamic
        self.dtype = dtype
        self.grow(ratio, device)

    def grow(self, ratio, device):
        for name, table in zip(("inv_freq", "C", "S"), self.compute(ratio, device), strict=True):
            self.register_buffer(name, table, persistent=False)

    def compute(self, ratio, device):
        base = self.base * ratio ** (self.dim / (self.dim - 2))
        inv_freq = 1.0 / (base ** (torch.arange(0, self.dim, 2, device=device).float() / self.dim))
        angles = torch.arange(self.max_seq_len * ratio, device=device).float()[:, None] * inv_freq[None, :]
        angles = torch.cat((angles, angles), dim=-1)
        return inv_freq, angles.cos().to(self.dtype), angles.sin().to(self.dtype)

    def forward(self, input, offset=0):
        end = offset + input.shape[1]
        c, s = self.C, self.S
        if end > len(c):
            ratio = -(-end // self.max_seq_len)
            ratio = ratio if ratio % 2 == 0 else ratio + 1
            if self.dynamic:
                self.grow(ratio, c.device)
                c, s = self.C, self.S
            else:
                _, c, s = self.compute(ratio, c.device)
        return apply_rotary_pos_emb(input, c[offset:end], s[offset:end])


@valid("NTKAwareRoPE", over=RopeInSteps)
class LengthStoredBesideTheTables(NTKAwareRoPE):
    """Keeps es and k as attributes, and replaces all of them together."""

    def must_grow(self, seq_len):
        self.extended_len = getattr(self, "extended_len", self.cos.shape[0])
        return seq_len > self.extended_len

    def keep(self, cos, sin):
        if self.dynamic:
            self.extended_len = cos.shape[0]
            self.ratio = self.extended_len // self.max_seq_len
            self.cos, self.sin = cos, sin
