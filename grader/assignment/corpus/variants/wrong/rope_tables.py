"""NTKAwareRoPE: faults in the tables, in how they are registered and in what forward returns."""

from functools import partial

import torch

from grader.assignment.corpus.variants.bases import RopeInSteps
from grader.specimens.variants import wrong
from ref.functional import apply_rotary_pos_emb
from ref.modeling.pos_emb import NTKAwareRoPE

from . import ROPE, ROPE_GROWTH

wrong_angles = partial(wrong, over=RopeInSteps, breaks="rope_base rope_exact_angles", also=ROPE_GROWTH)
wrong_base = partial(wrong_angles, "NTKAwareRoPE.scaled_base")


@wrong_base(hint="rope_unscaled_angles")
def power_of_the_product(self, ratio):
    """Raises base * k to the exponent, not k alone."""
    return float(self.base * ratio) ** (self.dim / (self.dim - 2))


@wrong_base(hint="rope_scaling")
def base_divided(self, ratio):
    """Shrinks the base, so frequencies rise."""
    return self.base / ratio ** (self.dim / (self.dim - 2))


@wrong_base(hint="rope_unscaled_base")
def base_never_scaled(self, ratio):
    """Only makes the tables longer."""
    return float(self.base)


@wrong_base(hint="rope_ratio_unheard")
def base_scaled_only_when_growing(self, ratio):
    """Leaves the initial ratio out, as if only recomputed tables were scaled."""
    return self.base * ratio ** (self.dim / (self.dim - 2)) if hasattr(self, "cos") else float(self.base)


@wrong_angles("NTKAwareRoPE.exponents", hint="rope_unscaled_angles")
def frequencies_fall_too_fast(self, device):
    """Divides by hd - 2, so that the last exponent is one."""
    return torch.arange(0, self.dim, 2, dtype=torch.float32, device=device) / (self.dim - 2)


@wrong_angles("NTKAwareRoPE.exponents", hint="rope_unscaled_angles")
def frequencies_in_reverse(self, device):
    """Gives the lowest frequency to the first pair."""
    return torch.arange(self.dim - 2, -1, -2, dtype=torch.float32, device=device) / self.dim


@wrong_angles("NTKAwareRoPE.exponents", hint="rope_unscaled_angles rope_far_positions")
def frequencies_in_float16(self, device):
    """Computes the exponents in half precision."""
    return torch.arange(0, self.dim, 2, dtype=torch.float16, device=device) / self.dim


@wrong("NTKAwareRoPE.positions", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE)
def positions_counted_to_four_thousand(self, ratio, device):
    """Begins again at 4096."""
    return torch.arange(self.max_seq_len * ratio, dtype=torch.float32, device=device) % 4096


@wrong("NTKAwareRoPE.positions", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE, hint="rope_far_positions")
def positions_in_bfloat16(self, ratio, device):
    """Counts positions in bfloat16, which skips numbers above 256."""
    return torch.arange(self.max_seq_len * ratio, device=device).bfloat16().float()


@wrong("NTKAwareRoPE.positions", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE, hint="rope_far_positions")
def grown_positions_in_the_dtype_of_the_tables(self, ratio, device):
    """Counts positions in float32 at first, and in the tables' dtype where they grow."""
    dtype = self.cos.dtype if hasattr(self, "cos") else torch.float32
    return torch.arange(self.max_seq_len * ratio, device=device).to(dtype).float()


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE, hint="rope_far_positions")
class GrownAnglesInTheDtypeOfTheInput(NTKAwareRoPE):
    """Rounds angles to the dtype of the input, where tables grow."""

    def spread(self, angles):
        return super().spread(angles.to(getattr(self, "given", angles.dtype)).float())

    def forward(self, input):
        self.given = input.dtype
        return super().forward(input)


@wrong(
    "NTKAwareRoPE",
    over=RopeInSteps,
    breaks="rope_exact_angles rope_smallest_even_ratio",
    also=ROPE,
    hint="rope_odd_ratio",
)
class OddRatiosOfPowers(NTKAwareRoPE):
    """Takes powers of a turn by doubling, whose error grows with the position, and the smallest ratio of all."""

    def _tables(self, ratio, dtype, device):
        turn = self.scaled_base(ratio) ** -self.exponents(device)
        turn = torch.polar(torch.ones_like(turn), turn)
        rows = torch.ones_like(turn)[None]
        while len(rows) < self.max_seq_len * ratio:
            rows, turn = torch.cat((rows, rows * turn)), turn * turn
        rows = rows[: self.max_seq_len * ratio].repeat(1, 2)
        return rows.real.to(dtype).contiguous(), rows.imag.to(dtype).contiguous()

    def choose_ratio(self, seq_len):
        return -(-seq_len // self.max_seq_len)


@wrong_angles("NTKAwareRoPE.spread", hint="rope_interleaved_tables")
def tables_for_neighbouring_pairs(self, angles):
    """Repeats each angle for neighbours, where the rotation pairs x_i with x_{i+hd/2}."""
    return angles.repeat_interleave(2, dim=-1)


@wrong("NTKAwareRoPE", breaks="rope_exact_angles", also=f"rope_base {ROPE_GROWTH}")
class TablesRoundedToBfloat16(NTKAwareRoPE):
    """Stores the tables in bfloat16, whatever dtype was asked for."""

    def _tables(self, ratio, dtype, device):
        return tuple(table.bfloat16().to(dtype) for table in super()._tables(ratio, dtype, device))


@wrong_angles("NTKAwareRoPE", hint="rope_tables_scaled")
class TablesScaledForAttention(NTKAwareRoPE):
    """Multiplies the tables by the factor that YaRN puts on attention."""

    def _tables(self, ratio, dtype, device):
        factor = 1 + 0.1 * torch.tensor(float(ratio)).log()
        return tuple((table * factor).to(dtype) for table in super()._tables(ratio, dtype, device))


@wrong("NTKAwareRoPE", breaks="rope_base rope_exact_angles", also=ROPE)
class SineOfTheCosine(NTKAwareRoPE):
    """Computes the sine of what has been overwritten with cosines."""

    def _tables(self, ratio, dtype, device):
        cos, _ = super()._tables(ratio, torch.float32, device)
        return cos.to(dtype), cos.sin().to(dtype)


@wrong("NTKAwareRoPE", breaks="rope_base rope_exact_angles", also=ROPE, hint="rope_unscaled_angles")
class CosineAndSineSwapped(NTKAwareRoPE):
    """Follows the source that stores sines in C and cosines in S."""

    def _tables(self, ratio, dtype, device):
        cos, sin = super()._tables(ratio, dtype, device)
        return sin, cos


@wrong(
    "NTKAwareRoPE.forward",
    breaks=f"rope_base rope_exact_angles {ROPE_GROWTH}",
    also=f"{ROPE} rotary_backward",
    hint="rope_unscaled_angles",
)
def returns_the_tables(self, input):
    """Returns (C, S), as a source of the exercise can be read."""
    return self.cos[: input.shape[1]], self.sin[: input.shape[1]]


@wrong("NTKAwareRoPE", breaks="rope_boundary", also="rotary_backward")
class ReturnsTheTablesToo(NTKAwareRoPE):
    """Returns the embedded tensor together with C and S."""

    def forward(self, input):
        return super().forward(input), self.cos, self.sin


@wrong("NTKAwareRoPE.forward", breaks="rope_base rope_exact_angles", also=ROPE, hint="rope_unscaled_angles")
def sequence_length_of_the_heads(self, input):
    """Reads the sequence length off dimension 2, where the heads are."""
    seq_len = input.shape[2]
    cos, sin = self.cos, self.sin
    if seq_len > cos.shape[0]:
        cos, sin = self._tables(2 * -(-seq_len // (2 * self.max_seq_len)), cos.dtype, cos.device)
        if self.dynamic:
            self.cos, self.sin = cos, sin
    return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])


@wrong("NTKAwareRoPE.keep", over=RopeInSteps, breaks="rope_buffers", hint="rope_persistent_tables")
def persistent_after_growth(self, cos, sin):
    """Registers the grown tables again and forgets persistent=False this time."""
    if self.dynamic:
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="rope_persistent_tables")
class PersistentFrequencies(NTKAwareRoPE):
    """Adds the frequencies as a persistent buffer."""

    def __init__(self, dim, max_seq_len, base=10000, **options):
        super().__init__(dim, max_seq_len, base=base, **options)
        self.register_buffer("inv_freq", base ** -(torch.arange(0, dim, 2) / dim))


@wrong("NTKAwareRoPE.keep", over=RopeInSteps, breaks="rope_buffers", hint="rope_growth_unregistered")
def plain_tensors_after_growth(self, cos, sin):
    """Deletes the buffers when the tables grow, so plain attributes take their place."""
    if self.dynamic:
        del self.cos, self.sin
        self.cos, self.sin = cos, sin


@wrong("NTKAwareRoPE", breaks="rope_buffers")
class SinesInAPlainAttribute(NTKAwareRoPE):
    """Registers the cosines only."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        sines = self.sin
        del self.sin
        self.sin = sines


@wrong("NTKAwareRoPE.scaled_base", over=RopeInSteps, breaks="rope_exact_angles", also=ROPE_GROWTH)
def logarithm_in_float16(self, ratio):
    """Rounds the logarithm of the base to float16."""
    base = torch.tensor(float(self.base * ratio ** (self.dim / (self.dim - 2))))
    return float(base.log().half().float().exp())


@wrong_base(hint="rope_scaling")
def base_scaled_only_beyond_two(self, ratio):
    """Takes the first ratio that growth makes for one that needs no scaling."""
    return self.base * ratio ** (self.dim / (self.dim - 2)) if ratio > 2 else float(self.base)


@wrong("NTKAwareRoPE._tables", breaks="rope_exact_angles", also=ROPE)
def frequencies_in_five_decimals(self, ratio, dtype, device):
    """Rounds the frequencies as they were printed."""
    exponents = torch.arange(0, self.dim, 2, dtype=torch.float32, device=device) / self.dim
    base = self.base * ratio ** (self.dim / (self.dim - 2)) if ratio > 1 else self.base
    positions = torch.arange(self.max_seq_len * ratio, dtype=torch.float32, device=device)
    angles = torch.outer(positions, (base**-exponents).round(decimals=5)).repeat(1, 2)
    return angles.cos().to(dtype), angles.sin().to(dtype)
