"""NTKAwareRoPE: faults in when the tables grow, by how much, and in what stays."""

from functools import partial

import torch

from grader.assignment.corpus.variants.bases import RopeInSteps
from grader.specimens.variants import wrong
from ref.functional import apply_rotary_pos_emb
from ref.modeling.pos_emb import NTKAwareRoPE

from . import ROPE, ROPE_GROWTH

wrong_ratio = partial(
    wrong, "NTKAwareRoPE.choose_ratio", over=RopeInSteps, breaks="rope_smallest_even_ratio", also=ROPE
)
wrong_keeping = partial(wrong, "NTKAwareRoPE.keep", over=RopeInSteps, also="rope_buffers")


@wrong("NTKAwareRoPE.must_grow", over=RopeInSteps, breaks="rope_boundary", also=ROPE, hint="rope_growth_beyond_ms")
def grows_beyond_the_training_length(self, seq_len):
    """Compares with ms, as if the initial tables ended there."""
    return seq_len > self.max_seq_len


@wrong("NTKAwareRoPE.must_grow", over=RopeInSteps, breaks="rope_boundary rope_dynamic", also=ROPE)
def tables_follow_every_length(self, seq_len):
    """Recomputes for shorter sequences too, and so keeps no growth."""
    return seq_len != self.cos.shape[0]


@wrong_ratio(hint="rope_one_step_too_far")
def loop_with_the_wrong_comparison(self, seq_len):
    """Counts up from two, while ms * k' <= s."""
    ratio = 2
    while self.max_seq_len * ratio <= seq_len:
        ratio += 2
    return ratio


@wrong_ratio(hint="rope_power_of_two_ratio")
def doubles_the_current_ratio(self, seq_len):
    """Doubles from the ratio that the tables have."""
    ratio = self.cos.shape[0] // self.max_seq_len
    while self.max_seq_len * ratio < seq_len:
        ratio *= 2
    return ratio


@wrong_ratio(hint="rope_growth_of_initial_ratio")
def counted_from_the_extended_length(self, seq_len):
    """Multiplies the current ratio by the smallest even factor that is enough."""
    length = self.cos.shape[0]
    return length // self.max_seq_len * 2 * -(-seq_len // (2 * length))


@wrong_ratio(hint="rope_odd_steps")
def steps_of_two_from_the_current_ratio(self, seq_len):
    """Adds two until it fits, so an odd ratio stays odd."""
    ratio = self.cos.shape[0] // self.max_seq_len
    while self.max_seq_len * ratio < seq_len:
        ratio += 2
    return ratio


@wrong_ratio(hint="rope_growth_of_initial_ratio")
def steps_of_two_from_a_large_ratio(self, seq_len):
    """Adds two until it fits, to an even number where the ratio is below five."""
    ratio = self.cos.shape[0] // self.max_seq_len
    ratio += ratio % 2 if ratio < 5 else 0
    while self.max_seq_len * ratio < seq_len:
        ratio += 2
    return ratio


@wrong(
    "NTKAwareRoPE.choose_ratio",
    over=RopeInSteps,
    breaks="rope_smallest_even_ratio rope_dynamic",
    hint="rope_growth_of_initial_ratio",
)
def ratio_of_the_extended_length(self, seq_len):
    """Divides by es, so tables that have been scaled come out too short."""
    return 2 * -(-seq_len // (2 * self.cos.shape[0]))


@wrong("NTKAwareRoPE.forward", over=RopeInSteps, breaks="rope_base rope_exact_angles", hint="rope_unscaled_angles")
def last_rows_of_the_tables(self, input):
    """Takes as many rows as there are positions from the end of the tables."""
    seq_len = input.shape[1]
    cos, sin = self.cos, self.sin
    if self.must_grow(seq_len):
        cos, sin = self._tables(self.choose_ratio(seq_len), cos.dtype, cos.device)
        self.keep(cos, sin)
    return apply_rotary_pos_emb(input, cos[-seq_len:], sin[-seq_len:])


@wrong_ratio()
def rounded_down(self, seq_len):
    """Drops the remainder, so the tables come out too short."""
    return max(2, seq_len // self.max_seq_len // 2 * 2)


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_smallest_even_ratio", also=ROPE, hint="rope_exact_ratio")
class ScalesByTheExactLength(NTKAwareRoPE):
    """Uses the fraction s / ms as the ratio, as dynamic NTK does elsewhere."""

    def choose_ratio(self, seq_len):
        self.wanted = seq_len / self.max_seq_len
        return super().choose_ratio(seq_len)

    def scaled_base(self, ratio):
        return super().scaled_base(getattr(self, "wanted", ratio))


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_static rope_dynamic", also=ROPE, hint="rope_growth_piles_up")
class BaseScaledInPlace(NTKAwareRoPE):
    """Scales self.base itself, so factors pile up from one recomputation to the next."""

    def scaled_base(self, ratio):
        self.base = super().scaled_base(ratio)
        return self.base


@wrong("NTKAwareRoPE.forward", breaks="rope_static", also=ROPE_GROWTH, hint="rope_static_keeps_growth")
def reuses_longer_tables(self, input):
    """Caches the tables of the last long call and lets them serve other long calls."""
    seq_len = input.shape[1]
    tables = (self.cos, self.sin)
    if seq_len > self.cos.shape[0]:
        tables = getattr(self, "spare", tables)
        if seq_len > tables[0].shape[0]:
            ratio = 2 * -(-seq_len // (2 * self.max_seq_len))
            tables = self.spare = self._tables(ratio, self.cos.dtype, self.cos.device)
            if self.dynamic:
                self.cos, self.sin = tables
    return apply_rotary_pos_emb(input, tables[0][:seq_len], tables[1][:seq_len])


@wrong("NTKAwareRoPE.must_grow", over=RopeInSteps, breaks="rope_static rope_smallest_even_ratio", also=ROPE)
def refuses_to_grow_when_static(self, seq_len):
    """Raises for long sequences unless dynamic."""
    if seq_len > self.cos.shape[0] and not self.dynamic:
        raise ValueError(f"a sequence of {seq_len} is longer than {self.cos.shape[0]}")
    return seq_len > self.cos.shape[0]


@wrong(
    "NTKAwareRoPE",
    over=RopeInSteps,
    breaks="rope_static rope_dynamic",
    also=ROPE,
    hint="rope_static_keeps_growth rope_dynamic_forgets_growth",
)
class DynamicTheOtherWayRound(NTKAwareRoPE):
    """Keeps the tables unless dynamic."""

    def keep(self, cos, sin):
        if not self.dynamic:
            self.cos, self.sin = cos, sin


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH, hint="rope_dynamic_shrinks")
class GrownTablesOldLimit(NTKAwareRoPE):
    """Keeps the tables and not their length, so a middle-length input shrinks them again."""

    def must_grow(self, seq_len):
        self.limit = getattr(self, "limit", self.cos.shape[0])
        return seq_len > self.limit


@wrong("NTKAwareRoPE.must_grow", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH)
def large_tables_shrink_for_short_calls(self, seq_len):
    """Makes new tables within max_seq_len, once there are more than six times as many positions."""
    held = self.cos.shape[0]
    return seq_len > held or (self.dynamic and seq_len <= self.max_seq_len and held > 6 * self.max_seq_len)


@wrong("NTKAwareRoPE.keep", over=RopeInSteps, breaks="rope_static", also=ROPE, hint="rope_static_keeps_growth")
def first_rows_of_long_growth_kept(self, cos, sin):
    """Keeps a static module's number of rows, but of the last tables, once these are long."""
    held = len(cos) if self.dynamic else len(self.cos)
    if self.dynamic or len(cos) > 8 * self.max_seq_len:
        self.cos, self.sin = cos[:held], sin[:held]


@wrong(
    "NTKAwareRoPE",
    over=RopeInSteps,
    breaks="rope_dynamic",
    also=f"{ROPE_GROWTH} rope_buffers",
    hint="rope_dynamic_forgets_growth",
)
class NewLimitOldTables(NTKAwareRoPE):
    """Keeps the length and not the tables, so a middle-length input finds them too short."""

    def must_grow(self, seq_len):
        self.limit = getattr(self, "limit", self.cos.shape[0])
        return seq_len > self.limit

    def keep(self, cos, sin):
        if self.dynamic:
            self.limit = cos.shape[0]


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH, hint="rope_tables_pieced")
class GrowthAppendsRows(NTKAwareRoPE):
    """Keeps the rows that it has, and appends those that are missing."""

    def _tables(self, ratio, dtype, device):
        made = super()._tables(ratio, dtype, device)
        if not self.dynamic or not hasattr(self, "sin"):
            return made
        return tuple(torch.cat((old, new[len(old) :])) for old, new in zip((self.cos, self.sin), made, strict=True))


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_smallest_even_ratio", also=ROPE, hint="rope_scaled_positions")
class GrowthDividesPositions(NTKAwareRoPE):
    """Stretches the base in the constructor, and divides the positions where tables grow."""

    def positions(self, ratio, device):
        return super().positions(ratio, device) / (ratio if hasattr(self, "cos") else 1)

    def scaled_base(self, ratio):
        return float(self.base) if hasattr(self, "cos") else super().scaled_base(ratio)


@wrong_keeping(breaks="rope_dynamic", hint="mode_matters")
def growth_kept_in_training(self, cos, sin):
    """Keeps grown tables where it is trained, and makes them for each call where it is evaluated."""
    if self.dynamic and self.training:
        self.cos, self.sin = cos, sin


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic")
class DynamicRatiosMayBeOdd(NTKAwareRoPE):
    """Rounds the ratio up to an even number only where it is not kept; most lengths make no difference."""

    def choose_ratio(self, seq_len):
        ratio = super().choose_ratio(seq_len)
        return ratio - 1 if self.dynamic and ratio > 8 and (ratio - 1) * self.max_seq_len >= seq_len else ratio


@wrong("NTKAwareRoPE", breaks="rope_buffers")
class GrowthLostOnTheWay(NTKAwareRoPE):
    """Makes the first tables again whenever the module is moved or converted."""

    def __init__(self, *args, ratio=1, **options):
        super().__init__(*args, ratio=ratio, **options)
        self.ratio = ratio

    def _apply(self, function, recurse=True):
        moved = super()._apply(function, recurse)
        self.cos, self.sin = self._tables(self.ratio, self.cos.dtype, self.cos.device)
        return moved


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="state_shared")
class LengthOnTheClass(NTKAwareRoPE):
    """Keeps max_seq_len on the class, where the next module writes its own."""

    def __init__(self, dim, max_seq_len, *args, **options):
        super().__init__(dim, max_seq_len, *args, **options)
        del self.max_seq_len
        type(self).max_seq_len = max_seq_len


@wrong_ratio()
def a_little_more_is_rounded_off(self, seq_len):
    """Rounds a quotient that 0.49 is added to, which drops one position more where max_seq_len is large."""
    return 2 * round(seq_len / (2 * self.max_seq_len) + 0.49)


@wrong_ratio()
def at_most_32(self, seq_len):
    """Lets no ratio exceed 32."""
    return min(2 * -(-seq_len // (2 * self.max_seq_len)), 32)


@wrong("NTKAwareRoPE", breaks="rope_static", also=ROPE, hint="rope_static_keeps_growth")
class GrowthUndoneByShortCalls(NTKAwareRoPE):
    """Keeps tables that a static module has grown, until a call of at most max_seq_len positions."""

    def forward(self, input):
        short, first = input.shape[1] <= self.max_seq_len, (self.cos, self.sin)
        self.dynamic, dynamic = True, self.dynamic
        self.cos, self.sin = getattr(self, "first", first) if short and not dynamic else first
        self.first = getattr(self, "first", first)
        output = super().forward(input)
        self.dynamic = dynamic
        return output


@wrong("NTKAwareRoPE", breaks="rope_buffers")
class RowsOfTheCallKept(NTKAwareRoPE):
    """Keeps as many rows of grown tables as the call has positions."""

    def forward(self, input):
        held, output = len(self.cos), super().forward(input)
        if len(self.cos) > held:
            self.cos, self.sin = (table[: input.shape[1]].clone() for table in (self.cos, self.sin))
        return output
