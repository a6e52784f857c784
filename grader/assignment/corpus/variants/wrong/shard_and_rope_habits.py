"""ParallelVocabEmbedding and rotary embedding: faults from other habits, none on the list of misconceptions."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import RopeInSteps, ShardInSteps
from grader.specimens.variants import wrong
from ref.functional import apply_rotary_pos_emb
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding

from . import ROPE, ROPE_GROWTH, ROTARY, SHARD_OUTPUT


@wrong("ParallelVocabEmbedding.forward", breaks="shard_owned_ids", also=SHARD_OUTPUT)
def rows_in_the_order_of_remainders(self, input_ids):
    """Owns the right range, and looks up the id modulo another number."""
    count = self.shard.shape[0]
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= count)
    return self.shard.to(input_ids.device)[(rows * 5) % count].masked_fill(foreign.unsqueeze(-1), 0)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_sum_over_ranks", also=SHARD_OUTPUT)
def gives_up_where_an_id_is_foreign(self, input_ids):
    """Returns zeros for the whole batch as soon as one id belongs to another rank."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    output = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)
    return output * (bool(foreign.all()) or not bool(foreign.any()))


@wrong(
    "ParallelVocabEmbedding.check_sizes",
    over=ShardInSteps,
    breaks="shard_registration_and_arguments shard_sizes_named",
    hint="bad_sizes_accepted",
)
def refuses_what_divides(self, vocab_size, world_size):
    """Asserts the opposite of what it should."""
    assert vocab_size % world_size != 0, f"vocab_size={vocab_size}, world_size={world_size}"


@wrong("ParallelVocabEmbedding.choose_seed", over=ShardInSteps, breaks="shard_seed", hint="shard_seed_of_later_ranks")
def seed_and_rank_mixed_by_bits(self, base_seed):
    """Takes the exclusive or, which is a sum for some numbers only."""
    return base_seed ^ self.rank


@wrong("ParallelVocabEmbedding.reset_parameters", breaks="shard_seed", hint="shard_seed_of_later_ranks init_not_drawn")
def only_the_first_rank_draws(self):
    """Expects the other ranks to be sent their rows."""
    if self.first_id == 0:
        generator = torch.Generator(self.shard.device).manual_seed(self.init_seed)
        nn.init.normal_(self.shard, self.init_mean, self.init_std, generator=generator)
    else:
        nn.init.ones_(self.shard)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", also=SHARD_OUTPUT, hint="gradient_scaled")
def gradient_shared_out_over_the_ids(self, input_ids):
    """Divides the gradient by the number of ids, with a hook."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    output = self.shard.to(input_ids.device)[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)
    if output.requires_grad:
        output.register_hook(lambda gradient: gradient / input_ids.numel())
    return output


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="rotary_heads_differ")
def sines_of_the_position_before(input, cos, sin):
    """Rolls the sines by one position."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] + turned * sin.roll(1, 0)[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_purity", also=ROTARY, hint="rotary_tables_changed")
def tables_given_a_dimension_in_place(input, cos, sin):
    """Calls unsqueeze_ on the caller's tables."""
    cos.unsqueeze_(1)
    sin.unsqueeze_(1)
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos + turned * sin).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY)
def pairs_brought_to_length_one(input, cos, sin):
    """Turns unit vectors."""
    first, second = input.chunk(2, dim=-1)
    length = torch.sqrt(first.float().square() + second.float().square()).repeat(1, 1, 1, 2)
    turned = torch.cat((-second, first), dim=-1)
    return ((input * cos[:, None] + turned * sin[:, None]) / length).to(input.dtype)


@wrong(
    "NTKAwareRoPE.scaled_base",
    over=RopeInSteps,
    breaks="rope_exact_angles",
    also=ROPE,
)
def base_through_a_half(self, ratio):
    """Rounds the base to a 16-bit number on its way."""
    base = float(torch.tensor(float(self.base), dtype=torch.bfloat16))
    return base * ratio ** (self.dim / (self.dim - 2))


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_static", also=ROPE, hint="rope_static_keeps_growth")
class StaticRatioGoesOnFromTheLast(NTKAwareRoPE):
    """Stores the ratio in either mode, and never takes a smaller one again."""

    def choose_ratio(self, seq_len):
        ratio = max(super().choose_ratio(seq_len), getattr(self, "last", 0))
        self.last = ratio
        return ratio


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_buffers", also=ROPE)
class FrequenciesOnly(NTKAwareRoPE):
    """Registers the frequencies and makes the tables anew in every call."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, dtype=torch.float32, device="cpu"):
        nn.Module.__init__(self)
        self.dim, self.max_seq_len, self.base, self.ratio, self.dynamic = dim, max_seq_len, base, ratio, dynamic
        self.register_buffer("frequencies", torch.ones(dim // 2, dtype=dtype, device=device), persistent=False)

    def forward(self, input):
        seq_len, ratio = input.shape[1], self.ratio
        if seq_len > self.max_seq_len * ratio:
            ratio = self.choose_ratio(seq_len)
            self.ratio = ratio if self.dynamic else self.ratio
        cos, sin = self._tables(ratio, self.frequencies.dtype, self.frequencies.device)
        return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])


@wrong("NTKAwareRoPE", breaks="rope_boundary", also=ROPE, hint="rope_heads")
class LaterHeadsAsTheyWere(NTKAwareRoPE):
    """Turns the first head only."""

    def forward(self, input):
        return torch.cat((super().forward(input[:, :, :1]), input[:, :, 1:]), dim=2)


@wrong("NTKAwareRoPE", breaks="rope_boundary", also=ROPE, hint="rope_module_dtype")
class OutputInTheDtypeOfTheTables(NTKAwareRoPE):
    """Converts what apply_rotary_pos_emb gave."""

    def forward(self, input):
        return super().forward(input).to(self.cos.dtype)


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_dynamic", also=ROPE_GROWTH)
class KeepsOnlyTheFirstGrowth(NTKAwareRoPE):
    """Grows for good once; after that it makes tables for one call."""

    def keep(self, cos, sin):
        if self.dynamic and not hasattr(self, "grown"):
            self.cos, self.sin, self.grown = cos, sin, True


@wrong("NTKAwareRoPE", over=RopeInSteps, breaks="rope_smallest_even_ratio", also=ROPE)
class GrowsToRoomForOneMore(NTKAwareRoPE):
    """Takes the next even ratio after the one that is enough, once the sequence fills three quarters of it."""

    def choose_ratio(self, seq_len):
        ratio = super().choose_ratio(seq_len)
        return ratio + 2 if 4 * seq_len > 3 * ratio * self.max_seq_len else ratio


@wrong("ParallelVocabEmbedding", breaks="shard_owned_ids", also=SHARD_OUTPUT, hint="mode_matters")
class ShardDropout(ParallelVocabEmbedding):
    """Has a dropout."""

    def forward(self, input_ids):
        return nn.functional.dropout(super().forward(input_ids), 0.1, self.training)


@wrong("ParallelVocabEmbedding", breaks="shard_purity", hint="state_shared")
class RankOfTheProcess(ParallelVocabEmbedding):
    """Asks a global, which each constructor writes, for the rank."""

    def __init__(self, *args, rank=0, **options):
        type(self).current = rank
        super().__init__(*args, rank=rank, **options)

    def forward(self, input_ids):
        self.first_id = self.current * self.shard.shape[0]
        return super().forward(input_ids)


@wrong("ParallelVocabEmbedding.forward", breaks="shard_backward", hint="backward_of_a_later_call")
def ids_kept_for_the_way_back(self, input_ids, kept={}):  # noqa: B006 - that is the mistake
    """Keeps the rows where a later call puts others before the way back."""

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(_, shard):
            rows = input_ids - self.first_id
            kept["foreign"] = foreign = (rows < 0) | (rows >= len(shard))
            kept["rows"] = rows = rows.masked_fill(foreign, 0)
            return shard[rows].masked_fill(foreign.unsqueeze(-1), 0)

        @staticmethod
        def backward(_, upstream):
            upstream = upstream.masked_fill(kept["foreign"].unsqueeze(-1), 0)
            gradient = upstream.new_zeros(self.shard.shape)
            return gradient.index_put((kept["rows"],), upstream, accumulate=True)

    return Lookup.apply(self.shard.to(input_ids.device))


@wrong("ParallelVocabEmbedding.reset_parameters", breaks="shard_seed")
def rank_added_after_the_first_draw(self):
    """Learns its rank when the constructor of its base has drawn already."""
    later = hasattr(self, "has_drawn")
    seed = self.init_seed - (0 if later else self.first_id // self.shard.shape[0])
    generator = torch.Generator(self.shard.device).manual_seed(seed)
    nn.init.normal_(self.shard, self.init_mean, self.init_std, generator=generator)
    self.has_drawn = True
