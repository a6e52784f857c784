"""Rotary embedding: oversights, each in one place."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import RopeInSteps
from grader.specimens.variants import wrong
from ref.functional import apply_rotary_pos_emb
from ref.modeling.pos_emb import NTKAwareRoPE

from . import ROPE, ROPE_GROWTH, ROTARY


@wrong("apply_rotary_pos_emb", breaks="rotary_dtype", also=ROTARY, hint="output_dtype")
def turned_in_double_and_left_there(input, cos, sin):
    """Computes in float64 and stays there."""
    first, second = input.double().chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return input.double() * cos.double()[:, None] + turned * sin.double()[:, None]


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="output_shape")
def heads_before_positions(input, cos, sin):
    """Returns [b, nh, s, hd]."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype).transpose(1, 2)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="output_shape")
def heads_merged(input, cos, sin):
    """Returns [b, s, nh * hd]."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype).flatten(-2)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="rotary_heads_differ")
def every_other_head(input, cos, sin):
    """Turns the heads with even numbers."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    output = (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)
    even = torch.arange(input.shape[2], device=input.device) % 2 == 0
    return torch.where(even[:, None], output, input)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_other_turn")
def sine_of_the_first_half_only(input, cos, sin):
    """Forgets the sine in the second half."""
    first, second = input.chunk(2, dim=-1)
    half = first.shape[-1]
    cos, sin = cos[:, None, :half], sin[:, None, :half]
    return torch.cat((first * cos - second * sin, second * cos), dim=-1).to(input.dtype)


@wrong(
    "NTKAwareRoPE.scaled_base", over=RopeInSteps, breaks="rope_base rope_exact_angles", also=ROPE, hint="rope_scaling"
)
def ratio_and_one(self, ratio):
    """Scales by k + 1 where k is not one."""
    return self.base * (ratio + (ratio > 1)) ** (self.dim / (self.dim - 2))


@wrong("NTKAwareRoPE.choose_ratio", over=RopeInSteps, breaks="rope_smallest_even_ratio", also=ROPE)
def odd_ratios_made_smaller(self, seq_len):
    """Makes an odd ratio even by taking one off, so the tables come out too short."""
    ratio = -(-seq_len // self.max_seq_len)
    return max(2, ratio - ratio % 2)


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_smallest_even_ratio rope_static rope_dynamic", also=ROPE)
class NeverGrows(NTKAwareRoPE):
    """Refuses whatever is longer than its tables."""

    def must_grow(self, seq_len):
        if seq_len > self.cos.shape[0]:
            raise ValueError(f"{seq_len} positions are more than {self.cos.shape[0]}")
        return False


@wrong("NTKAwareRoPE", breaks="rope_boundary", also=ROPE, hint="rope_module_dtype")
class OutputAlwaysFloat32(NTKAwareRoPE):
    """Converts the output to float32."""

    def forward(self, input):
        return super().forward(input).float()


@wrong(
    "NTKAwareRoPE",
    over=RopeInSteps,
    breaks="rope_buffers",
    also=f"{ROPE_GROWTH} rope_buffers",
    hint="rope_growth_unregistered",
)
class GrownTablesBesideTheBuffers(NTKAwareRoPE):
    """Keeps grown tables as plain attributes, and the first ones as buffers."""

    def forward(self, input):
        seq_len = input.shape[1]
        cos, sin = getattr(self, "grown", (self.cos, self.sin))
        if seq_len > cos.shape[0]:
            cos, sin = self._tables(self.choose_ratio(seq_len), cos.dtype, cos.device)
            if self.dynamic:
                self.grown = (cos, sin)
        return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE, hint="rope_far_positions")
class AnglesInTheTablesDtype(NTKAwareRoPE):
    """Multiplies positions and frequencies in the dtype of the tables."""

    def _tables(self, ratio, dtype, device):
        frequencies = self.scaled_base(ratio) ** -self.exponents(device)
        angles = self.spread(torch.outer(self.positions(ratio, device).to(dtype), frequencies.to(dtype)))
        return angles.cos(), angles.sin()


@wrong("NTKAwareRoPE._tables", breaks="rope_exact_angles")
def frequencies_in_six_decimals(self, ratio, dtype, device):
    """Rounds the frequencies, which shows at far positions."""
    base = self.base * ratio ** (self.dim / (self.dim - 2))
    frequencies = base ** -(torch.arange(0, self.dim, 2, device=device) / self.dim)
    angles = torch.outer(torch.arange(self.max_seq_len * ratio, device=device), frequencies.round(decimals=6))
    return angles.repeat(1, 2).cos().to(dtype), angles.repeat(1, 2).sin().to(dtype)


@wrong("NTKAwareRoPE", breaks="rope_buffers", also=ROPE, hint="input_changed")
class InputScaledInPlace(NTKAwareRoPE):
    """Scales queries by the root of their size, in the caller's tensor."""

    def forward(self, input):
        output = super().forward(input.clone())
        input.mul_(input.shape[-1] ** -0.5)
        return output


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH, hint="rope_dynamic_forgets_growth")
class DynamicKeepsTheRatioOnly(NTKAwareRoPE):
    """Stores the grown ratio, and uses the first tables for what they are long enough for."""

    def keep(self, cos, sin):
        if self.dynamic:
            self.ratio = cos.shape[0] // self.max_seq_len

    def choose_ratio(self, seq_len):
        return max(getattr(self, "ratio", 0), super().choose_ratio(seq_len))


@wrong("NTKAwareRoPE", breaks="rope_static rope_dynamic", also=ROPE_GROWTH, hint="rope_positions_go_on")
class PositionsGoOn(NTKAwareRoPE):
    """Starts where the last call ended, as long as the tables reach so far."""

    def forward(self, input):
        length, rows = input.shape[1], self.cos.shape[0]
        if length > rows:
            return super().forward(input)
        start = getattr(self, "seen", 0)
        start = start if start + length <= rows else 0
        self.seen = start + length
        return apply_rotary_pos_emb(input, self.cos[start : self.seen], self.sin[start : self.seen])


@wrong("NTKAwareRoPE", breaks="rope_base rope_exact_angles", also=ROPE, hint="rope_ratio_unheard")
class RatioUnheard(NTKAwareRoPE):
    """Computes the first tables for a ratio of 1, with room for as many positions as the ratio asks for."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, dtype=torch.float32, device="cpu"):
        super().__init__(dim, max_seq_len, base, ratio, dynamic, dtype, device)
        self.max_seq_len = max_seq_len * ratio
        self.cos, self.sin = self._tables(1, dtype, torch.device(device))
        self.max_seq_len = max_seq_len


@wrong("NTKAwareRoPE.scaled_base", over=RopeInSteps, breaks="rope_base", also=ROPE, hint="rope_scaling")
def whole_exponent(self, ratio):
    """Divides in whole numbers, which is right for four features."""
    return self.base * ratio ** (self.dim // (self.dim - 2))


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH)
class OnlyTheFirstGrowthIsKept(NTKAwareRoPE):
    """Keeps the tables of one growth, and computes further ones anew each time."""

    def keep(self, cos, sin):
        if not hasattr(self, "grew"):
            super().keep(cos, sin)
            self.grew = True


@wrong("NTKAwareRoPE", breaks="rope_static", also=ROPE_GROWTH, hint="rope_positions_go_on")
class OneTokenGoesOn(NTKAwareRoPE):
    """Takes a call of one token for the next position, as generation with a cache of keys needs it."""

    def forward(self, input):
        start = getattr(self, "seen", 0) % self.cos.shape[0] if input.shape[1] == 1 and not self.training else 0
        self.seen = start + input.shape[1]
        if start:
            return apply_rotary_pos_emb(input, self.cos[start : self.seen], self.sin[start : self.seen])
        return super().forward(input)


@wrong("NTKAwareRoPE", breaks="rope_static", also=ROPE_GROWTH, hint="rope_positions_go_on")
class SingleTokensAreCounted(NTKAwareRoPE):
    """Counts the calls of one token in evaluation, and takes the count for the position; longer calls do not count."""

    def forward(self, input):
        if input.shape[1] > 1 or self.training:
            return super().forward(input)
        position = getattr(self, "seen", 0) % self.cos.shape[0]
        self.seen = position + 1
        return apply_rotary_pos_emb(input, self.cos[position : self.seen], self.sin[position : self.seen])


@wrong("NTKAwareRoPE", breaks="rope_buffers", also=ROPE_GROWTH, hint="mode_matters")
class RopeDropout(NTKAwareRoPE):
    """Has a dropout."""

    def forward(self, input):
        return nn.functional.dropout(super().forward(input), 0.1, self.training)


@wrong("NTKAwareRoPE", breaks="rope_buffers", also=ROPE_GROWTH, hint="mode_matters")
class RopeScaledInEvaluation(NTKAwareRoPE):
    """Halves the output in evaluation."""

    def forward(self, input):
        return super().forward(input) * (1 if self.training else 0.5)


@wrong("NTKAwareRoPE", breaks="rope_boundary", also=ROPE_GROWTH, hint="rope_ratio_unheard")
class ShortCallsOfRatioOne(NTKAwareRoPE):
    """Scales for nothing that fits into ``max_seq_len``."""

    def forward(self, input):
        if input.shape[1] > self.max_seq_len:
            return super().forward(input)
        cos, sin = self._tables(1, self.cos.dtype, self.cos.device)
        return apply_rotary_pos_emb(input, cos[: input.shape[1]], sin[: input.shape[1]])


@wrong("NTKAwareRoPE.forward", over=RopeInSteps, breaks="rope_boundary", also=ROPE, hint="rope_heads")
def grows_by_heads(self, input):
    """Makes new tables for more heads than the cached ones have positions."""
    seq_len = input.shape[1]
    cos, sin = self.cos, self.sin
    if self.must_grow(max(input.shape[1:3])):
        cos, sin = self._tables(self.choose_ratio(seq_len), cos.dtype, cos.device)
        self.keep(cos, sin)
    return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])
