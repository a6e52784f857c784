"""VocabEmbedding in steps, and the mistakes made in each."""

from .slip import slip

TEMPLATE = """

class VocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, init_mean={v_mean_default}, init_std=1.0, init_seed={v_seed_default},
                 dtype={v_dtype_default}, device="cpu"):
        super().__init__()
        self.mean, self.std, self.seed = init_mean, init_std, init_seed
        values = torch.empty({v_shape}, dtype={v_dtype}, device=device)
        {v_register}
        {v_more}
        {v_initialise}

    def reset_parameters(self):
        generator = torch.Generator(self.table.device).manual_seed({v_seed})
        {v_earlier}
        with torch.no_grad():
            {v_draw}

    def forward(self, input_ids):
        {v_before}
        ids = {v_ids}
        table = ({v_table}).to(input_ids.device)
        {v_between}
        return {v_look}{v_like}

    {v_wrap}
"""

RIGHT = {
    "v_mean_default": "0.0",
    "v_seed_default": "42",
    "v_dtype_default": "torch.float32",
    "v_shape": "vocab_size, emb_size",
    "v_dtype": "dtype",
    "v_register": "self.table = nn.Parameter(values)",
    "v_more": "",
    "v_initialise": "self.reset_parameters()",
    "v_seed": "self.seed",
    "v_earlier": "",
    "v_draw": "self.table.normal_(self.mean, self.std, generator=generator)",
    "v_before": "",
    "v_ids": "input_ids",
    "v_table": "self.table",
    "v_between": "",
    "v_look": "table[ids]",
    "v_like": "",
    "v_wrap": "",
}

LOOK, INIT, REGISTERED = "vocab_lookup", "vocab_init_and_reset", "vocab_dtype_and_registration"
PURE, BACK = "vocab_purity", "vocab_backward"

SLIPS = (
    slip("padding_id", LOOK, "", "vocab_ids_in_place", v_like=".masked_fill((input_ids == 0).unsqueeze(-1), 0)"),
    slip("off_by_one", LOOK, v_ids="(input_ids - 1).clamp(min=0)"),
    slip("scaled_rows", LOOK, "lookup_rows_scaled", v_like=" * table.shape[1] ** 0.5"),
    slip("reversed_rows", LOOK, v_look="table.flip(0)[ids]"),
    slip("last_id_clamped", LOOK, "", "vocab_flat_parameter", v_ids="input_ids.clamp(max=self.table.shape[0] - 2)"),
    slip("half_precision_ids", LOOK, "vocab_narrow_ids", v_ids="input_ids.half().long()"),
    slip(
        "byte_ids",
        LOOK,
        "vocab_narrow_ids",
        v_ids="input_ids.to(torch.int8).long() if len(self.table) <= 256 else input_ids",
    ),
    slip("short_ids", LOOK, "vocab_narrow_ids", v_ids="input_ids.short().long()"),
    slip("rows_before_the_largest_id", LOOK, "", "vocab_flat_parameter", v_look="table[-int(ids.max()) - 1 :][ids]"),
    slip(
        "half_in_evaluation",
        LOOK,
        "mode_matters",
        v_table="self.table if self.training else self.table.half().to(self.table.dtype)",
    ),
    slip(
        "half_where_the_table_is_frozen",
        LOOK,
        "",
        "vocab_plain_tensor",  # which requires_grad_() does not reach
        v_table="self.table if self.table.requires_grad else self.table.half().to(self.table.dtype)",
    ),
    slip("columns_counted_in_half", LOOK, v_look="table[:, torch.arange(table.shape[1]).half().long()][ids]"),
    slip("tiny_entries_dropped", LOOK, v_like=".where(table[ids].abs() > 1e-6, 0)"),
    slip(
        "rows_through_float32",
        LOOK,
        "",
        "vocab_dtype_ignored vocab_output_float32",  # through float32 anyway
        v_look="table.float()[ids].to(table.dtype)",
    ),
    slip("long_sequences_sorted", LOOK, v_ids="input_ids.sort().values if input_ids.shape[1] > 20 else input_ids"),
    slip("sequence_first", LOOK, "output_shape", v_like=".transpose(0, 1)"),
    slip("normalised_rows", LOOK, "lookup_rows_scaled", v_like=" / table[ids].norm(dim=-1, keepdim=True)"),
    slip(
        "vocab_extra_draw",
        INIT,
        "init_after_extra_draw",
        v_earlier="torch.empty_like(self.table).normal_(generator=generator)",
    ),
    slip(
        "vocab_drawn_transposed",
        INIT,
        "init_other_order",
        "vocab_flat_parameter",
        v_draw="self.table.copy_(self.table.mT.contiguous().normal_(self.mean, self.std, generator=generator).mT)",
    ),
    slip(
        "vocab_uniform",
        INIT,
        "init_other_distribution",
        "vocab_mean_default",
        v_draw="self.table.uniform_(-1, 1, generator=generator)",
    ),
    slip(
        "vocab_draw_clamped",
        INIT,
        "init_other_distribution",
        v_draw="self.table.normal_(generator=generator).clamp_(-3, 3).mul_(self.std).add_(self.mean)",
    ),
    slip(
        "vocab_mean_ignored",
        INIT,
        "init_other_scale",
        "vocab_mean_default",
        v_draw="self.table.normal_(0.0, self.std, generator=generator)",
    ),
    slip(
        "vocab_std_as_variance",
        INIT,
        "init_other_scale",
        v_draw="self.table.normal_(self.mean, self.std ** 0.5, generator=generator)",
    ),
    slip("reset_counts_the_seed_up", INIT, "init_reset_differs", v_earlier="self.seed += 1"),
    slip("vocab_std_zero_unheard", INIT, v_draw="self.table.normal_(self.mean, self.std or 1.0, generator=generator)"),
    slip("id_zero_refused", LOOK, v_before="assert bool((input_ids > 0).all())"),
    slip(
        "last_id_refused",
        LOOK,
        "",
        "vocab_flat_parameter",
        v_before="assert bool((input_ids < len(self.table) - 1).all())",
    ),
    slip("vocab_seed_ignored", INIT, "init_seed_ignored", "vocab_seed_default", v_seed="42"),
    slip(
        "vocab_no_reset",
        INIT,
        "init_not_drawn",
        "vocab_seed_default vocab_mean_default",
        v_initialise="nn.init.zeros_(self.table)",
    ),
    slip("vocab_mean_default", REGISTERED, "default_argument", v_mean_default="1.0"),
    slip("vocab_seed_default", REGISTERED, "default_argument", v_seed_default="0"),
    slip(
        "vocab_padding_row",
        INIT,
        "init_not_drawn",
        v_draw="self.table.normal_(self.mean, self.std, generator=generator); self.table[0].zero_()",
    ),
    slip(
        "vocab_plain_tensor",
        f"{REGISTERED} {BACK}",
        "not_a_parameter",
        v_register="self.table = values.requires_grad_()",
    ),
    slip(
        "vocab_a_buffer", f"{REGISTERED} {BACK}", "not_a_parameter", v_register="self.register_buffer('table', values)"
    ),
    slip(
        "vocab_frozen",
        f"{REGISTERED} {BACK}",
        "frozen_parameter",
        v_register="self.table = nn.Parameter(values, requires_grad=False)",
    ),
    slip(
        "vocab_extra_parameter",
        REGISTERED,
        "further_parameter",
        v_more="self.scale = nn.Parameter(torch.ones(1, device=device))",
    ),
    slip(
        "vocab_extra_parameter_first",
        REGISTERED,
        "further_parameter",
        v_register="self.scale = nn.Parameter(torch.ones((), device=device)); self.table = nn.Parameter(values)",
    ),
    slip("one_hot_in_float32", REGISTERED, v_look="(nn.functional.one_hot(ids, len(table)).float() @ table)"),
    slip(
        "sixteen_bits_refused",
        REGISTERED,
        "",
        "rows_through_float32 vocab_std_zero_unheard",  # these show with float64 and float16 only
        v_more="assert dtype is torch.float32",
    ),
    slip("vocab_dtype_ignored", REGISTERED, "parameter_dtype", v_dtype="torch.float32"),
    slip("vocab_dtype_default", REGISTERED, "default_argument", v_dtype_default="torch.float16"),
    slip("vocab_output_float32", REGISTERED, "output_dtype", v_like=".float()"),
    slip(
        "vocab_flat_parameter",
        REGISTERED,
        "parameter_size",
        v_shape="vocab_size * emb_size",
        v_more="self.e = emb_size",
        v_table="self.table.view(-1, self.e)",
    ),
    slip("vocab_ids_in_place", PURE, "ids_changed_in_place", v_ids="input_ids.add_(1) - 1"),
    slip("vocab_table_in_place", PURE, "parameter_changed", v_look="(table[ids], self.table.data.mul_(1.5))[0]"),
    slip(
        "vocab_cached",
        PURE,
        "earlier_call_remembered",
        v_look="self.__dict__.setdefault('c', {}).setdefault(tuple(ids.shape), table[ids])",
    ),
    slip(
        "vocab_kept_in_evaluation",
        PURE,
        "earlier_call_remembered",
        v_look="(table[ids] if self.training else self.__dict__.setdefault(str(ids), table[ids]))",
    ),
    slip(
        "vocab_cached_table",
        f"{PURE} {BACK}",
        "earlier_call_remembered gradient_cut",
        v_table="self.__dict__.setdefault('t', self.table.detach().clone()) + 0 * self.table",
    ),
    slip(
        "vocab_drawn_by_the_first_call",
        f"{INIT} {PURE}",
        "init_not_drawn parameter_changed",
        "vocab_mean_default vocab_seed_default vocab_gradient_once",  # nothing is drawn, or compared, before a call
        v_initialise="nn.init.zeros_(self.table)",
        v_before="hasattr(self, 'drawn') or setattr(self, 'drawn', self.reset_parameters())",
    ),
    slip("vocab_detached", BACK, "gradient_cut", v_table="self.table.detach()"),
    slip(
        "vocab_detached_in_evaluation",
        BACK,
        "gradient_cut",
        # No table is known to compare with; vocab_purity charges for a copy that is kept, and has no gradient.
        "vocab_drawn_by_the_first_call vocab_ids_in_place vocab_table_in_place vocab_cached vocab_kept_in_evaluation",
        v_table="self.table if self.training else self.table.detach()",
    ),
    slip("vocab_no_grad", BACK, "gradient_cut", v_wrap="forward = torch.no_grad()(forward)"),
    slip(
        "vocab_gradient_once",
        BACK,
        "gradient_scaled",
        v_look="(table[ids].detach() + 0.5 * (table[ids] - table[ids].detach()))",
    ),
)
