"""ParallelVocabEmbedding: which ids are owned x how the others become zero x what it has of VocabEmbedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .axes import CHECKS, FRAMES, SEEDS, Axis, several
from .embeddings import AXES as WHOLE_TABLE
from .embeddings import MORE as OF_A_TABLE

# The lookup is that of the file's VocabEmbedding.
TEMPLATE: Final = '''


$helpers


def owned_rows(ids, T, rank):
    """The row of each owned id, zeros for the others."""
    n, e = T.shape
    first = rank * n
    last = first + n
    $own
    $zero


class ParallelVocabEmbedding($kin):
    """One rank's rows of a table."""

    def __init__(self, vocab_size: int, emb_size: int, rank: int = 0, world_size: int = 1, init_mean: float = 0.0, init_std: float = 1.0, init_base_seed: int = 42, dtype=torch.float32, device="cpu"):
        $check
        rows, columns = vocab_size // world_size, emb_size
        $begin
        self.rank, self.world_size = rank, world_size
        $make

    $reset

    $decorator
    def forward(self, input_ids):
        $travel
'''

OWNS: Axis = {
    "compare": "mask = (ids >= first) & (ids < last)",
    "ge and lt": "mask = torch.logical_and(ids.ge(first), ids.lt(last))",
    "both ends": "mask = (first <= ids) * (ids <= last - 1)",
    "outside": "mask = ~((ids < first) | (ids >= last))",
    "owner": 'mask = torch.div(ids, n, rounding_mode="floor") == rank',
    "floor": "mask = ids // n == rank",
    "shifted": "mask = ((ids - first) >= 0).logical_and((ids - first) < n)",
    "clamp": "mask = ids.clamp(first, last - 1) == ids",
    "isin": "mask = torch.isin(ids, torch.arange(first, last, device=ids.device))",
    "bucketize": "mask = torch.bucketize(ids, torch.tensor([first, last], device=ids.device), right=True) == 1",
    "remainder": "mask = ids % n == ids - first",
    "distance": "mask = (2 * (ids - first) - n + 1).abs() < n",
    "list": "mask = torch.tensor([[first <= i < last for i in row] for row in ids.tolist()], device=ids.device)",
}

_ZEROS: Final = "T.new_zeros(*ids.shape, e)"
ZEROS: Axis = {
    "where": "rows = lookup(torch.where(mask, ids - first, 0), T)\nreturn torch.where(mask.unsqueeze(-1), rows, 0)",
    "masked_fill": "rows = lookup((ids - first).masked_fill(~mask, 0), T)\nreturn rows.masked_fill(~mask[..., None], 0.0)",
    "times": "return lookup((ids - first) * mask, T) * mask.unsqueeze(-1)",
    "times, cast": "return lookup((ids - first).clamp(0, n - 1), T).mul(mask.unsqueeze(-1).to(T.dtype))",
    "assigned": f"out = {_ZEROS}\nout[mask] = lookup(ids[mask] - first, T)\nreturn out",
    "padded before": "return lookup(torch.where(mask, ids - first + 1, 0), F.pad(T, (0, 0, 1, 0)))",
    "a row of zeros": "return lookup(torch.where(mask, ids - first, n), torch.cat([T, T.new_zeros(1, e)]))",
    "padding_idx": """
        table = torch.vstack((torch.zeros_like(T[:1]), T))
        return F.embedding((ids - first + 1) * mask, table, padding_idx=0)
    """,
    "masked_scatter": f"return {_ZEROS}.masked_scatter(mask[..., None], lookup(ids[mask] - first, T))",
    "index_put": f"return {_ZEROS}.index_put(mask.nonzero(as_tuple=True), lookup(ids[mask] - first, T))",
    "index_add": """
        places = mask.flatten().nonzero().squeeze(1)
        rows = lookup(ids.flatten()[places] - first, T)
        return T.new_zeros(ids.numel(), e).index_add(0, places, rows).view(*ids.shape, e)
    """,
    "one-hot": "return F.one_hot(torch.where(mask, ids - first, n), n + 1)[..., :n].to(T.dtype) @ T",
    "equal": """
        hot = (ids[..., None] == torch.arange(first, last, device=ids.device)) & mask[..., None]
        return torch.matmul(hot.to(T.dtype), T)
    """,
    "row by row": """
        out = T.new_zeros(*ids.shape, e)
        for row in range(n):
            out = torch.where(((ids - first == row) & mask).unsqueeze(-1), T[row], out)
        return out
    """,
}

TRAVELS: Axis = {
    "table goes": "return owned_rows(input_ids, $mine.to(input_ids.device), self.rank)",
    "ids go": "return owned_rows(input_ids.to($mine.device), $mine, self.rank).to(input_ids.device)",
    "a copy of the ids": """
        ids = input_ids.detach().clone()
        return owned_rows(ids, $mine.to(ids.device), rank=self.rank)
    """,
}

RESET: Final = "def reset_parameters(self):\n    mean, std = self.distribution\n    $seeds"
LOCAL: Final = "self.local = VocabEmbedding(rows, columns, init_mean, init_std, init_base_seed + rank, dtype, device)"
CHILD: Final = "super().__init__(rows, columns, init_mean, init_std, init_base_seed + rank, dtype, device)"
BEGIN: Final = "super().__init__()\nself.distribution, self.init_seed = (init_mean, init_std), init_base_seed"
KINS: Axis = several(
    "kin begin make reset mine",
    {
        "none": ("$bases", f"{BEGIN} + rank", "$create\nself.reset_parameters()", RESET, "$table"),
        "late seed": ("$bases", BEGIN, "$create\nself.init_seed += rank\nself.reset_parameters()", RESET, "$table"),
        "nested": (
            "$bases",
            "super().__init__()",
            LOCAL,
            "def reset_parameters(self):\n    self.local.reset_parameters()",
            "next(self.local.parameters())",
        ),
        "child": ("VocabEmbedding", CHILD, "", "# reset_parameters is VocabEmbedding's", "next(self.parameters())"),
    },
)

AXES: Final[Mapping[str, Axis]] = {
    "own": OWNS,
    "zero": ZEROS,
    "travel": TRAVELS,
    "kin": KINS,
    "create": WHOLE_TABLE["create"],
    "seeds": SEEDS,
    "draw": WHOLE_TABLE["draw"],
    "check": CHECKS,
    "frame": FRAMES,
}
MORE: Final = {**OF_A_TABLE, "whole": "vocab_size", "part": "world_size"}
