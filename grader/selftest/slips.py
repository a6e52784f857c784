"""Submissions with two mistakes at once: each piece with its steps cut out, and for each step the mistakes made there.

The variants hold one mistake each, as students write it; here every pair of them can be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from grader.grading import reference_files

NORM, VOCAB_EMB, FUNCTIONAL, POS_EMB = (
    f"src/{path}" for path in ("modeling/norm.py", "modeling/vocab_emb.py", "functional.py", "modeling/pos_emb.py")
)

# What is appended to each file of the reference, with a place for each step.
TEMPLATES: Mapping[str, str] = {
    NORM: """

def reset_parameters(self):
    generator = torch.Generator().manual_seed(self.init_seed)
    {norm_earlier}
    nn.init.uniform_(self.gamma, *self.init_range, generator=generator)

def forward(self, input):
    gz = self.group_size
    x = {convert}
    groups = {cut}
    groups = {centre}
    mean_square = {mean}
    rms = {root}{detach}
    return ((groups / rms){back}.flatten(-2) * {gamma}).to(input.dtype)

GroupRMSNorm.reset_parameters, GroupRMSNorm.forward = reset_parameters, forward
""",
    VOCAB_EMB: """

class VocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, init_mean=0.0, init_std=1.0, init_seed=42):
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, emb_size))
        generator = torch.Generator().manual_seed(init_seed)
        {vocab_earlier}
        nn.init.normal_(self.table, init_mean, init_std, generator=generator)

    def forward(self, input_ids):
        return self.table[{vocab_ids}]

class ParallelVocabEmbedding(nn.Module):
    def __init__(self, vocab_size, emb_size, rank=0, world_size=1, init_mean=0.0, init_std=1.0, init_base_seed=42):
        super().__init__()
        self.n = vocab_size // world_size
        self.first = rank * self.n
        self.shard = nn.Parameter(torch.empty(self.n, emb_size))
        generator = torch.Generator().manual_seed(init_base_seed{plus_rank})
        {shard_earlier}
        nn.init.normal_(self.shard, init_mean, init_std, generator=generator)

    def forward(self, input_ids):
        rows = {shift}
        below, above = {below}, {above}
        return self.shard[{lookup}].masked_fill(({mask}).unsqueeze(-1), 0)
""",
    FUNCTIONAL: """

def apply_rotary_pos_emb(input, cos, sin):
    cos, sin = {tables}
    half = input.shape[-1] // 2
    cos, sin = cos[:, None, :half], sin[:, None, :half]
    first, second = input.unflatten(-1, {pairs}).unbind({member})
    return torch.stack((first * cos {minus} second * sin, second * cos {plus} first * sin), dim={member}).flatten(-2)
""",
    POS_EMB: """

class NTKAwareRoPE(nn.Module):
    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False):
        super().__init__()
        self.dim, self.ms, self.base, self.dynamic = dim, max_seq_len, base, dynamic
        self.keep(*self.tables(ratio))

    def tables(self, k):
        theta = {base} ** -(torch.arange(0, self.dim, 2) / self.dim)
        angles = torch.outer({positions}, theta).repeat(1, 2)
        return angles.cos(), angles.sin()

    def keep(self, cos, sin):
        self.register_buffer("cos", cos, persistent={persistent})
        self.register_buffer("sin", sin, persistent={persistent})

    def forward(self, input):
        s = input.shape[1]
        cos, sin = self.cos, self.sin
        if s > len(cos):
            cos, sin = self.tables({ratio})
            if {kept}:
                self.keep(cos, sin)
        return apply_rotary_pos_emb(input, cos[:s], sin[:s])
""",
}

RIGHT: Mapping[str, str] = {
    "norm_earlier": "",
    "convert": "input.float()",
    "cut": "x.unflatten(-1, (-1, gz))",
    "centre": "groups",
    "mean": "groups.square().mean(-1, keepdim=True)",
    "root": "(mean_square + self.eps).sqrt()",
    "detach": "",
    "back": "",
    "gamma": "self.gamma",
    "vocab_earlier": "",
    "vocab_ids": "input_ids",
    "plus_rank": " + rank",
    "shard_earlier": "",
    "shift": "input_ids - self.first",
    "below": "rows < 0",
    "above": "rows >= self.n",
    "lookup": "rows.clamp(0, self.n - 1)",
    "mask": "below | above",
    "tables": "cos, sin",
    "pairs": "(2, -1)",
    "member": "-2",
    "minus": "-",
    "plus": "+",
    "base": "(self.base * k ** (self.dim / (self.dim - 2)))",
    "positions": "torch.arange(self.ms * k, dtype=torch.float32)",
    "persistent": "False",
    "ratio": "2 * -(-s // (2 * self.ms))",
    "kept": "self.dynamic",
}


@dataclass(frozen=True)
class Slip:
    """One mistake: the steps that it changes, and the property and misconception that it should be known by."""

    property_id: str
    misconception: str
    steps: Mapping[str, str]


def _draw(parameter: str) -> str:
    return f"torch.empty_like({parameter}).normal_(generator=generator)"


NORM_SLIPS = (
    Slip("norm_groups", "norm_over_whole_hidden", {"cut": "x.unsqueeze(-2)"}),
    Slip("norm_groups", "norm_group_size_as_count", {"cut": "x.unflatten(-1, (gz, -1))"}),
    Slip("norm_groups", "norm_strided_groups", {"cut": "x.unflatten(-1, (gz, -1)).mT", "back": ".mT"}),
    Slip("norm_groups", "norm_sum_for_mean", {"mean": "groups.square().sum(-1, keepdim=True)"}),
    Slip("norm_groups", "norm_unbiased_mean", {"mean": "groups.square().sum(-1, keepdim=True) / (gz - 1)"}),
    Slip("norm_groups", "norm_subtracts_mean", {"centre": "groups - groups.mean(-1, keepdim=True)"}),
    Slip("norm_eps_inside_sqrt", "norm_eps_outside", {"root": "(mean_square.sqrt() + self.eps)"}),
    Slip("norm_eps_inside_sqrt", "norm_eps_absent", {"root": "mean_square.sqrt()"}),
    Slip("norm_eps_inside_sqrt", "norm_eps_constant", {"root": "(mean_square + 1e-6).sqrt()"}),
    Slip("norm_gamma", "norm_shared_gamma", {"gamma": "self.gamma[:gz].repeat(len(self.gamma) // gz)"}),
    Slip("norm_gamma", "norm_permuted_gamma", {"gamma": "self.gamma.view(gz, -1).T.flatten()"}),
    Slip("norm_float32_inside", "norm_squares_before_upcast", {"convert": "input"}),
    Slip("norm_backward", "norm_detached_rms", {"detach": ".detach()"}),
    Slip("norm_init_and_reset", "init_after_extra_draw", {"norm_earlier": _draw("self.gamma")}),
)
VOCAB_SLIPS = (
    Slip("vocab_init_and_reset", "init_after_extra_draw", {"vocab_earlier": _draw("self.table")}),
    Slip("vocab_purity", "ids_changed_in_place", {"vocab_ids": "input_ids.add_(1) - 1"}),
)
SHARD_SLIPS = (
    Slip("shard_seed", "shard_seed_without_rank", {"plus_rank": ""}),
    Slip("shard_seed", "init_after_extra_draw", {"shard_earlier": _draw("self.shard")}),
    Slip("shard_purity", "ids_changed_in_place", {"shift": "input_ids.sub_(self.first)"}),
    Slip("shard_owned_ids", "shard_lost_edge_row", {"below": "rows <= 0"}),
    Slip("shard_zeros_elsewhere", "shard_clamped_ids", {"mask": "below"}),
    Slip("shard_zeros_elsewhere", "shard_wrapped_ids", {"mask": "below", "lookup": "rows % self.n"}),
)
POSITION_SLIPS = (
    Slip("rotary_pairing_and_sign", "rotary_adjacent_pairs", {"pairs": "(-1, 2)", "member": "-1"}),
    Slip("rotary_pairing_and_sign", "rotary_opposite_angle", {"minus": "+", "plus": "-"}),
    Slip("rotary_pairing_and_sign", "rotary_swapped_tables", {"tables": "sin, cos"}),
    Slip("rope_base", "rope_scaled_positions", {"base": "self.base", "positions": f"{RIGHT['positions']} / k"}),
    Slip("rope_base", "rope_base_times_ratio", {"base": "(self.base * k)"}),
    Slip("rope_base", "rope_beta_factor_on_base", {"base": "(self.base * k ** (2 / (self.dim - 2)))"}),
    Slip("rope_base", "rope_unscaled_base", {"base": "self.base"}),
    Slip("rope_smallest_even_ratio", "rope_odd_ratio", {"ratio": "-(-s // self.ms)"}),
    Slip("rope_smallest_even_ratio", "rope_one_step_too_far", {"ratio": "2 * (s // (2 * self.ms) + 1)"}),
    Slip("rope_smallest_even_ratio", "rope_power_of_two_ratio", {"ratio": "1 << (-(-s // self.ms) - 1).bit_length()"}),
    Slip("rope_static", "rope_static_keeps_growth", {"kept": "True"}),
    Slip("rope_dynamic", "rope_dynamic_forgets_growth", {"kept": "False"}),
    Slip("rope_buffers", "rope_persistent_tables", {"persistent": "True"}),
)


def pairs_of_slips() -> list[tuple[Slip, Slip]]:
    """Every pair in one piece that costs two properties and touches no step twice."""
    return [
        (first, second)
        for slips in (NORM_SLIPS, VOCAB_SLIPS, SHARD_SLIPS, POSITION_SLIPS)
        for first, second in combinations(slips, 2)
        if first.property_id != second.property_id and not first.steps.keys() & second.steps.keys()
    ]


def submission(slips: Sequence[Slip]) -> dict[str, str]:
    """The reference with its pieces replaced by those of the templates, and these slips in them."""
    steps = {**RIGHT, **{step: code for slip in slips for step, code in slip.steps.items()}}
    files = reference_files()
    return files | {path: files[path] + template.format(**steps) for path, template in TEMPLATES.items()}
