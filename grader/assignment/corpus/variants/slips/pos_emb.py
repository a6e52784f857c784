"""NTKAwareRoPE in steps, and the mistakes made in each."""

from .slip import slip

TEMPLATE = """

class NTKAwareRoPE(nn.Module):
    def __init__(self, dim, max_seq_len, base={base_default}, ratio={ratio_default}, dynamic={dynamic_default},
                 dtype=torch.float32, device="cpu"):
        super().__init__()
        self.dim, self.ms, self.base, self.dynamic = dim, max_seq_len, base, dynamic
        self.dtype, self.device = dtype, device
        self.k0 = ratio
        {rope_more}
        self.keep(*self.tables({initial}, {initial_rows}))

    def tables(self, k, rows):
        theta = {base} ** -({exponents} / {divisor})
        angles = torch.outer({positions}[:rows], theta).repeat(1, 2)
        device = self.cos.device if hasattr(self, 'cos') else self.device
        return angles.cos().to({table_dtype}).to(device), angles.sin().to({table_dtype}).to(device)

    def keep(self, cos, sin):
        {keep}

    def forward(self, input):
        {rope_before}
        s = input.shape[1]
        cos, sin = self.cos, self.sin
        if {grow}:
            k = {ratio}
            cos, sin = self.tables(k, self.ms * k)
            {grown}
            if {kept}:
                {store}
        return apply_rotary_pos_emb({rope_input}, cos[{slice}], sin[{slice}]){rope_like}

    {rope_wrap}
"""

REGISTER = "self.register_buffer('cos', cos, persistent=False); self.register_buffer('sin', sin, persistent=False)"
RIGHT = {
    "base_default": "10000",
    "ratio_default": "1",
    "dynamic_default": "False",
    "rope_more": "",
    "initial": "ratio",
    "initial_rows": "self.ms * ratio",
    "base": "(self.base * k ** (self.dim / (self.dim - 2)))",
    "exponents": "torch.arange(0, self.dim, 2)",
    "divisor": "self.dim",
    "positions": "torch.arange(self.ms * k, dtype=torch.float32)",
    "table_dtype": "self.dtype",
    "keep": REGISTER,
    "rope_before": "",
    "grow": "s > len(cos)",
    "ratio": "2 * -(-s // (2 * self.ms))",
    "grown": "",
    "kept": "self.dynamic",
    "store": "self.keep(cos, sin)",
    "rope_input": "input",
    "slice": ":s",
    "rope_like": "",
    "rope_wrap": "",
}

BASE, EDGE, EVEN, STATIC, DYNAMIC, BUFFERS = (
    "rope_base",
    "rope_boundary",
    "rope_smallest_even_ratio",
    "rope_static",
    "rope_dynamic",
    "rope_buffers",
)
BACK, EXACT = "rotary_backward", "rope_exact_angles"
ANGLES = f"{BASE} {EXACT}"

SLIPS = (
    slip("dynamic_of_the_last_module", STATIC, "state_shared", rope_more="type(self).last = dynamic", kept="self.last"),
    slip(
        "scaled_positions", ANGLES, "rope_scaled_positions", base="self.base", positions=RIGHT["positions"] + ".div(k)"
    ),
    slip("scaled_positions_and_base", ANGLES, "rope_scaled_positions", positions=RIGHT["positions"] + ".div(k)"),
    slip("base_times_ratio", ANGLES, "rope_base_times_ratio", base="(self.base * k)"),
    slip("beta_factor", ANGLES, "rope_beta_factor_on_base", base="(self.base * k ** (2 / (self.dim - 2)))"),
    slip("inverse_exponent", ANGLES, "rope_scaling", base="(self.base * k ** ((self.dim - 2) / self.dim))"),
    slip("exponent_of_dim", ANGLES, "rope_scaling", base="(self.base * k ** self.dim)"),
    slip("integer_base", BASE, "rope_scaling", base="int(self.base * k ** (self.dim / (self.dim - 2)))"),
    slip("integer_exponent", BASE, "rope_scaling", base="(self.base * k ** (self.dim // (self.dim - 2)))"),
    slip("exponents_over_half", ANGLES, "rope_unscaled_angles", divisor="(self.dim / 2)"),
    slip("exponents_not_doubled", ANGLES, "rope_unscaled_angles", exponents="torch.arange(self.dim // 2)"),
    slip("positions_from_one", ANGLES, "rope_unscaled_angles", positions=RIGHT["positions"] + ".add(1)"),
    slip(
        "positions_stretched", ANGLES, "rope_unscaled_angles", positions="torch.linspace(0, self.ms * k, self.ms * k)"
    ),
    slip("base_ignored", ANGLES, "rope_base_ignored", base="(10000 * k ** (self.dim / (self.dim - 2)))"),
    slip("base_default", BASE, "default_argument", base_default="500000"),
    slip("angles_in_bfloat16", EXACT, "rope_far_positions", positions=RIGHT["positions"] + ".to(self.dtype).float()"),
    slip(
        "grows_at_equality",
        EDGE,
        "rope_growth_at_es",
        "growth_keeps_the_base odd_ratio exact_fraction",  # the tables that it makes at es are those that it replaces
        grow="s >= len(cos)",
    ),
    slip(
        "grows_beyond_ms",
        EDGE,
        "rope_growth_beyond_ms",
        "growth_keeps_the_base",
        grow="s > len(cos) or s > self.ms and len(cos) == self.ms * self.k0",
    ),
    slip("rows_of_ms", EDGE, "rope_growth_beyond_ms", "growth_keeps_the_base", initial_rows="self.ms"),
    slip(
        "rows_of_ms_whatever_the_ratio",  # no call that grows has enough rows
        f"{EDGE} {EVEN}",
        "",
        "rope_detached_on_growth",
        positions="torch.arange(self.ms, dtype=torch.float32)",
        grow="s > self.ms * self.k0",
        store="self.keep(cos, sin); self.k0 = k",
    ),
    slip("one_row_too_few", f"{EDGE} {EVEN}", positions=RIGHT["positions"] + "[:-1]", grow="s > len(cos) + 1"),
    slip(
        "initial_ratio_even",
        EDGE,
        initial="ratio + ratio % 2 if ratio > 1 else 1",
        initial_rows="self.ms * (ratio + ratio % 2 if ratio > 1 else 1)",
    ),
    slip("one_step_only", f"{EVEN} {DYNAMIC}", ratio="len(cos) // self.ms // 2 * 2 + 2"),
    slip(
        "ratio_of_es_that_crashes",
        f"{EVEN} {DYNAMIC}",
        "",
        # of larger ratios than one, which it restores wrongly, no call that grows answers; with few rows, none is wrong
        "static_restores_one rows_of_ms",
        ratio="2 * -(-s // (2 * len(cos)))",
        grown="cos.narrow(0, 0, s)",
    ),
    slip("odd_ratio", EVEN, "rope_odd_ratio", ratio="-(-s // self.ms)"),
    slip("one_step_too_far", EVEN, "rope_one_step_too_far", ratio="2 * (s // (2 * self.ms) + 1)"),
    slip("two_steps_too_far", EVEN, ratio="2 * -(-s // (2 * self.ms)) + 2"),
    slip("power_of_two", EVEN, "rope_power_of_two_ratio", ratio="1 << (-(-s // self.ms) - 1).bit_length()"),
    slip("multiple_of_four", EVEN, ratio="4 * -(-s // (4 * self.ms))"),
    slip(
        "ratio_from_es",
        EVEN,
        "rope_growth_of_initial_ratio",
        ratio="2 * -(-s // (2 * self.ms * self.k0))",
        positions="torch.arange(self.ms * self.k0 * k, dtype=torch.float32)",
        grown="cos, sin = self.tables(k, self.ms * self.k0 * k)",
    ),
    slip("odd_doubled", EVEN, ratio="(lambda q: q if q % 2 == 0 else 2 * q)(-(-s // self.ms))"),
    slip(
        "exact_fraction",
        f"{EVEN} {DYNAMIC}",
        "rope_exact_ratio",
        grown="cos, sin = self.tables(s / self.ms, s) if False else self.exact(s)",
        rope_more="self.exact = lambda s: (lambda t: (t.cos().to(self.cos), t.sin().to(self.cos)))(torch.outer(torch.arange(s).float(), (self.base * (s / self.ms) ** (self.dim / (self.dim - 2))) ** -(torch.arange(0, self.dim, 2) / self.dim)).repeat(1, 2))",
    ),
    slip(
        "growth_keeps_the_base",
        EVEN,
        "rope_unscaled_base",
        grown="cos, sin = self.plain(self.ms * k)",
        rope_more="self.plain = lambda rows: (lambda t: (t.cos().to(self.cos), t.sin().to(self.cos)))(torch.outer(torch.arange(rows).float(), (self.base * self.k0 ** (self.dim / (self.dim - 2))) ** -(torch.arange(0, self.dim, 2) / self.dim)).repeat(1, 2))",
    ),
    slip("static_keeps", STATIC, "rope_static_keeps_growth", kept="True"),
    slip(
        "static_restores_one",
        STATIC,
        kept="True",
        store="self.keep(cos, sin) if self.dynamic else self.keep(*self.tables(1, self.ms))",
    ),
    slip(
        "last_row_of_long_calls_in_evaluation",
        STATIC,
        grow="s > len(cos) and (self.dynamic or self.training or s < 3 * self.ms)",
        slice="torch.arange(s).clamp(max=len(cos) - 1)",
    ),
    slip("dynamic_forgets", DYNAMIC, "rope_dynamic_forgets_growth", kept="False"),
    slip(
        "dynamic_counts_from_es",
        DYNAMIC,
        "",
        "growth_keeps_the_base",  # all tables have one base, so that no output shows from what the ratio counts
        store="self.keep(cos, sin); self.ms = len(cos)",
    ),
    slip("grows_only_in_training", DYNAMIC, "mode_matters", kept="self.dynamic and self.training"),
    slip(
        "shrinks_again",
        DYNAMIC,
        "rope_dynamic_shrinks",
        grow="s > len(cos) or (self.dynamic and s > self.ms * self.k0 and s <= len(cos) // 2)",
    ),
    slip("persistent", BUFFERS, "rope_persistent_tables", keep=REGISTER.replace("False", "True")),
    slip("plain_tables", BUFFERS, keep="self.cos, self.sin = cos, sin"),
    slip(
        "parameters_for_tables", BUFFERS, keep="self.cos, self.sin = nn.Parameter(cos, False), nn.Parameter(sin, False)"
    ),
    slip(
        "rope_narrow_tables_refused",
        BUFFERS,
        "",
        "angles_in_bfloat16 rope_input_rounded",
        rope_more="assert dtype == torch.float32",
    ),
    slip("rope_dtype_ignored", BUFFERS, "rope_table_dtype", "rope_input_rounded", table_dtype="torch.float32"),
    slip(
        "dtype_lost_on_growth",
        BUFFERS,
        "rope_table_dtype",
        grown="cos, sin = (t.half().float() if False else t for t in (cos, sin))",
        store="self.keep(cos, sin)",
        table_dtype="(self.dtype if not hasattr(self, 'cos') else torch.float32)",
    ),
    slip("rope_narrow_input_refused", EDGE, rope_before="assert input.dtype == torch.float32"),
    slip(
        "rope_input_rounded",
        EDGE,
        rope_input="input.to(cos.dtype)",
        rope_like=".to(input.dtype)",
    ),
    slip(
        "tables_cast_to_the_input",
        BUFFERS,
        "earlier_call_remembered",
        "rope_input_rounded",
        rope_before="self.cos, self.sin = self.cos.to(input.dtype), self.sin.to(input.dtype)",
    ),
    slip(
        "rope_kept_in_evaluation",
        BUFFERS,
        "earlier_call_remembered",
        "tables_cast_to_the_input rope_input_rounded rope_input_in_place",
        rope_input="(input if self.training else self.__dict__.setdefault(str(input.shape), input * 1))",
    ),
    slip(
        "rope_input_in_place",
        BUFFERS,
        "input_changed",
        rope_input="input.clone()",
        rope_like=" if input.mul_(2) is None else apply_rotary_pos_emb(input / 2, cos[:s], sin[:s])",
    ),
    slip("rope_no_grad", BACK, "rope_module_gradient", rope_wrap="forward = torch.no_grad()(forward)"),
    slip(
        "tables_grown_in_place",
        BACK,
        "",
        "dynamic_forgets last_row_of_long_calls_in_evaluation",  # growth is not kept; a list of rows copies them
        store="self.cos.resize_(cos.shape).copy_(cos); self.sin.resize_(sin.shape).copy_(sin)",
    ),
    slip(
        "base_takes_gradients",
        BACK,
        "",
        "integer_base base_ignored parameters_for_tables",  # these cut the gradient
        rope_more="self.base = torch.tensor(float(base), requires_grad=True)",
    ),
    slip("rope_detached", BACK, "rope_module_gradient", rope_input="input.detach()"),
    slip(
        "rope_detached_on_growth",
        BACK,
        "rope_module_gradient",
        rope_input="(input.detach() if s > self.ms * self.k0 else input)",
    ),
)
