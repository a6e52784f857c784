"""ParallelVocabEmbedding in steps, and the mistakes made in each."""

from .slip import slip

TEMPLATE = """

class ParallelVocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, {rank}, world_size={world}, init_mean=0.0, init_std=1.0,
                 init_base_seed={s_seed_default}, dtype={s_dtype_default}, device="cpu"):
        super().__init__()
        {s_check}
        self.n = vocab_size // world_size
        self.rank, self.world, self.v = rank, world_size, vocab_size
        self.first = {first}
        self.mean, self.std, self.seed = init_mean, init_std, {s_seed}
        values = torch.empty({s_shape}, dtype={s_dtype}, device=device)
        {s_register}
        {s_more}
        {s_initialise}

    def reset_parameters(self):
        generator = torch.Generator(self.shard.device).manual_seed({s_reset_seed})
        {s_earlier}
        with torch.no_grad():
            {s_draw}

    def forward(self, input_ids):
        shard = ({s_rows}).to(input_ids.device)
        rows = {shift}
        below, above = {below}, {above}
        out = shard[{lookup}]
        return {masked}{s_like}

    {s_wrap}
"""

RIGHT = {
    "rank": "rank=0",
    "world": "1",
    "s_seed_default": "42",
    "s_dtype_default": "torch.float32",
    "s_check": "assert vocab_size % world_size == 0, f'{vocab_size} over {world_size}'",
    "first": "rank * (vocab_size // world_size)",
    "s_seed": "init_base_seed + rank",
    "s_shape": "vocab_size // world_size, emb_size",
    "s_dtype": "dtype",
    "s_register": "self.shard = nn.Parameter(values)",
    "s_more": "",
    "s_initialise": "self.reset_parameters()",
    "s_reset_seed": "self.seed",
    "s_earlier": "",
    "s_draw": "self.shard.normal_(self.mean, self.std, generator=generator)",
    "s_rows": "self.shard",
    "shift": "input_ids - self.first",
    "below": "rows < 0",
    "above": "rows >= self.n",
    "lookup": "rows.clamp(0, self.n - 1)",
    "masked": "out.masked_fill((below | above).unsqueeze(-1), 0)",
    "s_like": "",
    "s_wrap": "",
}

OWNED, ZEROS, SUM, SEED = "shard_owned_ids", "shard_zeros_elsewhere", "shard_sum_over_ranks", "shard_seed"
REGISTERED, PURE, BACK = "shard_registration_and_arguments", "shard_purity", "shard_backward"
NAMED = "shard_sizes_named"

SLIPS = (
    slip("lost_first", OWNED, "shard_lost_edge_row", below="rows <= 0"),
    slip("lost_last", OWNED, "shard_lost_edge_row", above="rows >= self.n - 1"),
    slip("start_of_world", OWNED, first="rank * world_size"),
    slip("start_by_a_quotient", OWNED, first="int(vocab_size * (rank / world_size))"),
    slip("start_one_late", OWNED, first="rank * (vocab_size // world_size) + 1"),
    slip(
        "strided_ownership",
        OWNED,
        "shard_dealt_ids",
        "upper_edge_included",
        shift="torch.where(input_ids % self.world == self.rank, input_ids // self.world, -1)",
    ),
    slip("global_rows", OWNED, "", "shard_ids_in_place", lookup="input_ids.clamp(0, self.n - 1)"),
    slip("ranks_reversed", OWNED, first="(world_size - 1 - rank) * (vocab_size // world_size)"),
    slip("rows_over_world", OWNED, "lookup_rows_scaled", "gradient_of_foreign_ids", s_like=" / self.world"),
    slip(
        "clamped",
        ZEROS,
        "shard_clamped_ids",
        "strided_ownership lost_last",
        masked="out.masked_fill(below.unsqueeze(-1), 0)",
    ),
    slip(
        "clamped_both",
        ZEROS,
        "shard_clamped_ids",
        "lost_first lost_last float32_zeros owner_by_the_reciprocal",
        masked="out",
    ),
    slip(
        "wrapped",
        ZEROS,
        "shard_wrapped_ids",
        "lost_first lost_last ranks_reversed float32_zeros owner_by_the_reciprocal",
        lookup="rows % self.n",
        masked="out",
    ),
    slip(
        "upper_edge_included",
        ZEROS,
        "shard_neighbour_answered",
        above="rows > self.n",
        lookup="rows.clamp(0, self.n - 1)",
    ),
    slip(
        "rows_in_a_byte",
        ZEROS,
        "",
        "owner_by_the_reciprocal ranks_reversed",  # the former does not go by the row
        shift="(input_ids - self.first).to(torch.uint8).long() if self.n <= 256 else input_ids - self.first",
    ),
    slip(
        "small_instead_of_zero",
        ZEROS,
        "shard_filled_otherwise",
        masked="out.masked_fill((below | above).unsqueeze(-1), 1e-8)",
    ),
    slip(
        "tiny_elsewhere",
        ZEROS,
        "shard_filled_otherwise",
        "float32_zeros",
        masked="out.masked_fill((below | above).unsqueeze(-1), torch.finfo(out.dtype).tiny)",
    ),
    slip(
        "minus_one_elsewhere",
        ZEROS,
        "shard_filled_otherwise",
        "float32_zeros",
        masked="out.masked_fill((below | above).unsqueeze(-1), -1)",
    ),
    slip(
        "unmasked_where_most_ids_are_own_in_evaluation",
        ZEROS,
        "shard_one_mode",
        "owner_by_the_reciprocal",  # in one mode, own ids are right again
        masked="(out if not self.training and bool((below | above).float().mean() < 0.5) "
        "else out.masked_fill((below | above).unsqueeze(-1), 0))",
    ),
    slip(
        "owner_by_the_reciprocal",
        OWNED,
        "",
        "shard_ids_in_place",  # the owner would be that of the ids already shifted
        below="(input_ids * (1 / self.n)).long() < self.rank",
        above="(input_ids * (1 / self.n)).long() > self.rank",
    ),
    slip(
        "first_rank_unmasked",
        ZEROS,
        "",
        "strided_ownership first_rank_refused ranks_reversed",
        above="(rows >= self.n) & (self.rank > 0)",
    ),
    slip(
        "first_rank_refused",
        f"{OWNED} {REGISTERED}",
        s_check="assert 0 < rank <= world_size and vocab_size % world_size == 0, f'{vocab_size} over {world_size}'",
    ),
    slip(
        "one_rank_refused",
        f"{OWNED} {REGISTERED}",
        s_check="assert world_size > 1 and vocab_size % world_size == 0, f'{vocab_size} over {world_size}'",
    ),
    slip(
        "own_id_needed",
        ZEROS,
        "",
        "first_rank_refused ranks_reversed strided_ownership float32_zeros",
        s_rows="self.shard if bool(((input_ids >= self.first) & (input_ids < self.first + self.n)).any()) else 1 / 0",
    ),
    slip("shard_id_zero_refused", OWNED, s_rows="self.shard if bool((input_ids > 0).all()) else 1 / 0"),
    slip("shard_last_id_refused", OWNED, s_rows="self.shard if bool((input_ids < self.v - 1).all()) else 1 / 0"),
    slip(
        "padded_shards",
        f"{OWNED} {REGISTERED}",
        "parameter_size",
        s_shape="-(-(vocab_size // world_size) // 16) * 16, emb_size",
        first="rank * (-(-(vocab_size // world_size) // 16) * 16)",
        s_more="self.n = -(-(vocab_size // world_size) // 16) * 16",
    ),
    slip("shard_std_zero_unheard", SEED, s_draw="self.shard.normal_(self.mean, self.std or 1.0, generator=generator)"),
    slip("seed_without_rank", SEED, "shard_seed_without_rank", s_seed="init_base_seed"),
    slip("seed_of_the_rank_among_eight", SEED, s_seed="init_base_seed + rank % 8"),
    slip("seed_times_rank", SEED, "shard_seed_of_later_ranks", s_seed="init_base_seed * (rank + 1)"),
    slip(
        "shard_extra_draw",
        SEED,
        "init_after_extra_draw",
        s_earlier="torch.empty_like(self.shard).normal_(generator=generator)",
    ),
    slip(
        "shard_cut_out_of_a_table",
        SEED,
        "shard_rows_of_a_table",
        s_draw="table = self.shard.new_empty(self.world, *self.shard.shape).normal_(self.mean, self.std, generator=generator); self.shard.copy_(table[self.rank])",
    ),
    slip(
        "shard_mean_ignored", SEED, "init_other_scale", s_draw="self.shard.normal_(0.0, self.std, generator=generator)"
    ),
    slip(
        "shard_std_ignored", SEED, "init_other_scale", s_draw="self.shard.normal_(self.mean, 1.0, generator=generator)"
    ),
    slip(
        "shard_mean_for_std",
        SEED,
        "init_other_scale",
        "shard_seed_default",  # by default, all numbers are 1, whatever the seed
        s_draw="self.shard.normal_(self.std, self.mean, generator=generator)",
    ),
    slip("shard_uniform", SEED, "init_other_distribution", s_draw="self.shard.uniform_(generator=generator)"),
    slip("shard_no_reset", SEED, "init_not_drawn", "shard_seed_default", s_initialise="nn.init.ones_(self.shard)"),
    slip("shard_seed_default", REGISTERED, "default_argument", s_seed_default="0"),
    slip(
        "reset_forgets_the_rank",
        SEED,
        "init_reset_differs",
        s_reset_seed="self.seed if not hasattr(self, 'again') else self.seed - self.rank",
        s_initialise="self.reset_parameters(); self.again = True",
    ),
    slip("rank_default", REGISTERED, "default_argument", rank="rank=1"),
    slip("world_default", REGISTERED, "default_argument", world="2"),
    slip("rank_without_default", REGISTERED, rank="rank"),
    slip("shard_no_check", f"{REGISTERED} {NAMED}", "bad_sizes_accepted", s_check=""),
    slip("shard_check_without_numbers", NAMED, "bad_sizes_unnamed", s_check="assert vocab_size % world_size == 0"),
    slip(
        "full_table",
        REGISTERED,
        "parameter_size",
        s_shape="vocab_size, emb_size",
        s_rows="self.shard[self.rank * self.n : (self.rank + 1) * self.n]",
    ),
    slip(
        "shard_plain_tensor",
        f"{REGISTERED} {BACK}",
        "not_a_parameter",
        s_register="self.shard = values.requires_grad_()",
    ),
    slip(
        "shard_a_buffer", f"{REGISTERED} {BACK}", "not_a_parameter", s_register="self.register_buffer('shard', values)"
    ),
    slip(
        "shard_frozen",
        f"{REGISTERED} {BACK}",
        "frozen_parameter",
        s_register="self.shard = nn.Parameter(values, requires_grad=False)",
    ),
    slip(
        "shard_frozen_on_later_ranks",
        f"{REGISTERED} {BACK}",
        "frozen_parameter",
        s_register="self.shard = nn.Parameter(values, requires_grad=rank == 0)",
    ),
    slip(
        "shard_extra_parameter",
        REGISTERED,
        "further_parameter",
        s_more="self.scale = nn.Parameter(torch.ones(1, device=device))",
    ),
    slip(
        "shard_float16_refused",
        REGISTERED,
        "",
        "shard_std_zero_unheard",  # which shows with float16 only
        s_check="assert vocab_size % world_size == 0 and dtype is not torch.float16, f'{vocab_size} over {world_size}'",
    ),
    slip("shard_dtype_ignored", REGISTERED, "parameter_dtype", s_dtype="torch.float32"),
    slip("shard_output_float32", REGISTERED, "output_dtype", s_like=".float()"),
    slip(
        "rows_put_into_float32",
        REGISTERED,
        masked="torch.zeros(out.shape, device=out.device).index_put((~(below | above),), out[~(below | above)])",
    ),
    slip(
        "float32_zeros",
        REGISTERED,
        "output_dtype",
        s_wrap="_own = forward\\n    def forward(self, input_ids):\\n        out = self._own(input_ids)\\n        return out if bool(out.any()) else torch.zeros(out.shape)".replace(
            "\\n", "\n"
        ),
    ),
    slip("shard_ids_in_place", PURE, "ids_changed_in_place", shift="input_ids.sub_(self.first)"),
    slip("foreign_ids_overwritten", PURE, "ids_changed_in_place", lookup="input_ids.copy_(rows.clamp(0, self.n - 1))"),
    slip(
        "shard_cached",
        PURE,
        "earlier_call_remembered",
        masked="self.__dict__.setdefault('c', {}).setdefault(tuple(rows.shape), out.masked_fill((below | above).unsqueeze(-1), 0))",
    ),
    slip(
        "shard_kept_in_evaluation",
        PURE,
        "earlier_call_remembered",
        lookup="rows.clamp(0, self.n - 1)] if self.training else self.__dict__.setdefault(str(rows), shard * 1)[rows.clamp(0, self.n - 1)",
    ),
    slip(
        "shard_drawn_by_the_first_call",
        f"{SEED} {PURE}",
        "init_not_drawn parameter_changed",
        # What is drawn late does not show from where rows are taken.
        "shard_seed_default start_of_world global_rows first_rank_refused padded_shards rows_put_into_float32 "
        "gradient_of_foreign_ids",
        s_initialise="nn.init.zeros_(self.shard)",
        s_rows="(hasattr(self, 'drawn') or setattr(self, 'drawn', self.reset_parameters()), self.shard)[1]",
    ),
    slip("shard_short_ids", OWNED, "shard_narrow_ids", shift="input_ids.short().long() - self.first"),
    slip("shard_detached", BACK, "gradient_cut", s_rows="self.shard.detach()"),
    slip(
        "shard_detached_in_evaluation",
        BACK,
        "gradient_cut",
        s_rows="self.shard if self.training else self.shard.detach()",
    ),
    slip("shard_no_grad", BACK, "gradient_cut", s_wrap="forward = torch.no_grad()(forward)"),
    slip(
        "gradient_of_foreign_ids",
        BACK,
        "shard_foreign_gradients",
        masked="out - (out * 1).masked_fill((~(below | above)).unsqueeze(-1), 0).detach()",
    ),
)
