"""Other right steps: what a student may write in the place of a step without leaving the contract.

A style is a slip that breaks nothing. Each alone, and pairs of them, must keep all points.
"""

from __future__ import annotations

from functools import partial

from .slip import Slip, slip

style = partial(slip, breaks="")  # of keyword steps

OWNED_ROW = "(~(below | above)).unsqueeze(-1)"
PIECES_OF_ROTATION = """
_whole = apply_rotary_pos_emb

def apply_rotary_pos_emb(input, cos, sin):
    return torch.cat([_whole(piece, cos, sin) for piece in input.split(1, {dim})], {dim})
"""
ROTATION_WITH_BACKWARD = """
_turn = apply_rotary_pos_emb

class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, cos, sin):
        ctx.save_for_backward(cos, sin)
        return _turn(input, cos, sin)

    @staticmethod
    def backward(ctx, gradient):
        cos, sin = ctx.saved_tensors
        return _turn(gradient, cos, -sin), None, None

apply_rotary_pos_emb = Turn.apply
"""
OFFSET = """
    _forward = forward

    def forward(self, input, offset=0, **unused):
        return self._forward(input)
"""
REFUSES = "if {a} % {b}:\n            raise ValueError(f'{{{a}=}} and {{{b}=}} do not fit')"
HELD_IN = "type(self).{name} = property(lambda module: module.{path})"
WIDE_DRAW = "self.{p}.copy_(torch.empty(self.{p}.shape, dtype=torch.float32, device=self.{p}.device).{draw})"

NORM = (
    style("gamma_1_1_h", gamma_shape="(1, 1, hidden_size)"),
    style("gamma_in_groups", gamma_shape="(hidden_size // group_size, group_size)"),
    style(
        "gamma_in_a_submodule",
        register="self.inner = nn.Module(); self.inner.weight = nn.Parameter(values)",
        more=HELD_IN.format(name="gamma", path="inner.weight"),
    ),
    style(
        "gamma_in_a_list",
        register="self.parts = nn.ParameterList([values])",
        more=HELD_IN.format(name="gamma", path="parts[0]"),
    ),
    style("gamma_registered_by_name", register="self.register_parameter('gamma', nn.Parameter(values))"),
    style("in_double", convert="input.double()"),
    style("converted_only_where_needed", convert="input if input.dtype == torch.float32 else input.float()"),
    style("promoted", convert="input.to(torch.promote_types(input.dtype, torch.float32))"),
    style("input_cloned", convert="input.detach().float() + (input - input.detach()).float()"),
    style("cut_by_reshape", cut="x.reshape(*x.shape[:-1], self.h // gz, gz)"),
    style("cut_by_view", cut="x.contiguous().view(x.shape[0], x.shape[1], -1, gz)"),
    style("cut_by_split", cut="torch.stack(x.split(gz, -1), -2)"),
    style("cut_by_unfold", cut="x.unfold(-1, gz, gz)"),
    style("mean_by_einsum", mean="torch.einsum('...i,...i->...', groups, groups).unsqueeze(-1) / gz"),
    style("mean_by_matmul", mean="(groups.unsqueeze(-2) @ groups.unsqueeze(-1)).squeeze(-1) / gz"),
    style("mean_by_norm", mean="torch.linalg.vector_norm(groups, dim=-1, keepdim=True).square() / gz"),
    style(
        "mean_by_pooling",
        mean="nn.functional.avg_pool1d(x.square().flatten(0, 1).unsqueeze(1), gz).reshape(*x.shape[:-1], -1, 1)",
    ),
    style("eps_before_the_mean", root="(groups.square() + self.eps).mean(-1, keepdim=True).sqrt()"),
    style("power_for_root", root="(mean_square + self.eps) ** 0.5"),
    style("root_by_exp_and_log", root="((mean_square + self.eps).double().log() / 2).exp()"),
    style("eps_as_a_tensor", keep_eps="torch.tensor(eps, dtype=torch.float64)"),
    style("reciprocal", scaled="(groups * (mean_square + self.eps).rsqrt()).flatten(-2) * weight"),
    style("library", scaled="nn.functional.rms_norm(groups, (gz,), None, self.eps).flatten(-2) * weight"),
    style("scaled_in_groups", scaled="(groups / rms * weight.view(-1, gz)).flatten(-2)"),
    style("scaled_by_einsum", scaled="torch.einsum('bsh,h->bsh', (groups / rms).flatten(-2).float(), weight.float())"),
    style("cast_before_gamma", scaled="(groups / rms).flatten(-2).to(input.dtype) * weight"),
    style("scaled_in_place", scaled="groups.div(rms).flatten(-2).mul_(1.0) * weight"),
    style("norm_type_as", like=".type_as(input)"),
    style("norm_global_seed", norm_draw="torch.manual_seed(self.init_seed); self.gamma.uniform_(*self.init_range)"),
    style(
        "gamma_drawn_wide",
        norm_draw=WIDE_DRAW.format(p="gamma", draw="uniform_(*self.init_range, generator=generator)"),
    ),
    style("gamma_by_nn_init", norm_draw="nn.init.uniform_(self.gamma, *self.init_range, generator=generator)"),
    style("norm_value_error", check=REFUSES.format(a="hidden_size", b="group_size")),
    style("says_its_sizes", wrap="def extra_repr(self):\n        return f'{self.h}, {self.gz}'"),
)

VOCAB = (
    style("ids_clamped", v_look="nn.functional.embedding(ids.clamp(0, table.shape[0] - 1), table)"),
    style("along_a_dimension", v_look="torch.take_along_dim(table, ids.reshape(-1, 1), dim=0).view(*ids.shape, -1)"),
    style("selected", v_look="table.index_select(0, ids.reshape(-1)).unflatten(0, ids.shape)"),
    style(
        "gathered", v_look="table.expand(len(ids), -1, -1).gather(1, ids.unsqueeze(-1).expand(-1, -1, table.shape[1]))"
    ),
    style("row_by_row", v_look="torch.stack([table[sequence] for sequence in ids])"),
    style("one_hot", v_look="(nn.functional.one_hot(ids, len(table)).double() @ table.double()).to(table.dtype)"),
    style("ids_copied", v_ids="input_ids.clone()"),
    style("ids_in_32_bits", v_ids="input_ids.int()"),
    style("table_padded", v_table="torch.cat((self.table, self.table.new_zeros(1, self.table.shape[1])))"),
    style(
        "table_in_an_embedding",
        v_register="self.emb = nn.Embedding(vocab_size, emb_size, _weight=values)",
        v_more=HELD_IN.format(name="table", path="emb.weight"),
    ),
    style("vocab_global_seed", v_draw="torch.manual_seed(self.seed); self.table.normal_(self.mean, self.std)"),
    style(
        "table_drawn_wide", v_draw=WIDE_DRAW.format(p="table", draw="normal_(self.mean, self.std, generator=generator)")
    ),
    style(
        "table_data_replaced",
        v_draw="self.table.data = torch.empty_like(self.table.data).normal_(self.mean, self.std, generator=generator)",
    ),
    style("output_copied", v_like=".clone()"),
)

SHARD = (
    style("looked_up_at_zero", lookup="torch.where(below | above, 0, rows)"),
    style("looked_up_by_remainder", lookup="rows % self.n"),
    style("looked_up_by_product", lookup="rows * ~(below | above)"),
    style("zeros_by_where", masked="torch.where((below | above).unsqueeze(-1), 0, out)"),
    style("zeros_by_product", masked=f"out * {OWNED_ROW}"),
    style("zeros_by_a_mask_of_its_dtype", masked=f"out * {OWNED_ROW}.to(out.dtype)"),
    style(
        "zeros_by_scatter",
        masked=f"torch.zeros_like(out).masked_scatter({OWNED_ROW}.expand_as(out), out[~(below | above)])",
    ),
    style(
        "zeros_by_index_put",
        masked="torch.zeros_like(out).index_put((~(below | above)).nonzero(as_tuple=True), out[~(below | above)])",
    ),
    style("bounds_of_the_ids", below="input_ids < self.first", above="input_ids >= self.first + self.n"),
    style("owner_by_division", below="input_ids // self.n < self.rank", above="input_ids // self.n > self.rank"),
    style(
        "row_of_zeros",
        s_rows="nn.functional.pad(self.shard, (0, 0, 0, 1))",
        lookup="torch.where(below | above, self.n, rows)",
        masked="out",
    ),
    style("start_from_a_range", first="range(0, vocab_size, vocab_size // world_size)[rank]"),
    style("rank_added_on_reset", s_seed="init_base_seed", s_reset_seed="self.seed + self.rank"),
    style(
        "shard_in_an_embedding",
        s_register="self.emb = nn.Embedding(*values.shape, _weight=values)",
        s_more=HELD_IN.format(name="shard", path="emb.weight"),
    ),
    style("shard_global_seed", s_draw="torch.manual_seed(self.seed); self.shard.normal_(self.mean, self.std)"),
    style(
        "shard_drawn_wide", s_draw=WIDE_DRAW.format(p="shard", draw="normal_(self.mean, self.std, generator=generator)")
    ),
    style("shard_value_error", s_check=REFUSES.format(a="vocab_size", b="world_size")),
)

FUNCTIONAL = (
    style("rotated_in_float32", rotary_input="input.float()", tables="cos.float(), sin.float()"),
    style("rotated_in_double", rotary_input="input.double()", tables="cos.double(), sin.double()"),
    style("tables_like_the_input", tables="cos.to(input), sin.to(input)"),
    style("tables_with_all_dimensions", spread="[None, :, None]"),
    style("tables_unsqueezed", spread=".unsqueeze(-2)"),
    style("tables_expanded", spread="[:, None].expand(-1, input.shape[2], -1)"),
    style("rotary_type_as", rotary_like=".type_as(input)"),
    style("contiguous", rotary_input="input.contiguous()"),
    style("row_of_the_batch_by_row", rotary_wrap=PIECES_OF_ROTATION.format(dim=0)),
    style("head_by_head", rotary_wrap=PIECES_OF_ROTATION.format(dim=2)),
    style("backward_turns_back", rotary_wrap=ROTATION_WITH_BACKWARD),
)

ROPE = (
    style(
        "angles_in_double",
        exponents="torch.arange(0, self.dim, 2, dtype=torch.float64)",
        positions="torch.arange(self.ms * k, dtype=torch.float64)",
    ),
    style("exponent_as_a_sum", base="(self.base * k ** (1 + 2 / (self.dim - 2)))"),
    style("base_from_beta", base="((self.base ** (2 / self.dim) * k ** (2 / (self.dim - 2))) ** (self.dim / 2))"),
    style("exponents_doubled", exponents="(2 * torch.arange(self.dim // 2))"),
    style("positions_by_cumsum", positions="torch.ones(self.ms * k).cumsum(0).sub(1)"),
    style(
        "registered_in_a_loop",
        keep="[self.register_buffer(n, t, persistent=False) for n, t in (('cos', cos), ('sin', sin))]",
    ),
    style("limit_by_shape", grow="s > cos.shape[0]"),
    style("ratio_rounded_up_to_even", ratio="(-(-s // self.ms) + 1) // 2 * 2"),
    style("ratio_searched", ratio="next(k for k in range(2, s + 2, 2) if self.ms * k >= s)"),
    style("ratio_with_a_remainder", ratio="-(-s // self.ms) + -(-s // self.ms) % 2"),
    style("ratio_stored", store="self.keep(cos, sin); self.k = k"),
    style(
        "grown_tables_kept_apart",
        grown="cos, sin = self.__dict__.setdefault('spare', {}).setdefault("
        "(k, self.cos.dtype, self.cos.device), (cos, sin))",
    ),
    style(
        "frequencies_too",
        rope_more="self.register_buffer('inv_freq', torch.ones(dim // 2, device=device), persistent=False)",
    ),
    style("takes_an_offset", rope_wrap=OFFSET),
)

STYLES: tuple[tuple[Slip, ...], ...] = (NORM, VOCAB, SHARD, (*FUNCTIONAL, *ROPE))
