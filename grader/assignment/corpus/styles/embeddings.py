"""VocabEmbedding: how rows are looked up x which way the tensors travel x what holds the table x how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .axes import DRAWS, FRAMES, HEADER, SEEDS, Axis, several

TEMPLATE: Final = '''
$header


$helpers


$lookup


class VocabEmbedding($bases):
    """A table of rows."""

    def __init__(self, vocab_size: int, emb_size: int, init_mean: float = 0.0, init_std: float = 1.0, init_seed: int = 42, dtype=torch.float32, device="cpu"):
        super().__init__()
        self.init_mean, self.init_std, self.init_seed = init_mean, init_std, init_seed
        rows, columns = vocab_size, emb_size
        $create
        self.reset_parameters()

    def reset_parameters(self):
        mean, std = self.init_mean, self.init_std
        $seeds

    $decorator
    def forward(self, input_ids):
        $travel
'''


def _lookup(*lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f'def lookup(ids, table):\n    """The row of each id, with the shape of ``ids`` and one dimension more."""\n{body}'


_FLAT: Final = ".view(*ids.shape, table.shape[1])"
LOOKUPS: Axis = {
    "embedding": _lookup("return F.embedding(ids, table)"),
    "index": _lookup("return table[ids]"),
    "index with slice": _lookup("return table[ids, :]"),
    "index_select": _lookup(f"return table.index_select(0, ids.flatten()){_FLAT}"),
    "gather": _lookup(f"return table.gather(0, ids.reshape(-1, 1).expand(-1, table.size(1))){_FLAT}"),
    "take_along_dim": _lookup(f"return torch.take_along_dim(table, ids.reshape(-1, 1), dim=0){_FLAT}"),
    "take": _lookup(
        "places = ids.unsqueeze(-1) * table.size(1) + torch.arange(table.size(1), device=ids.device)",
        "return torch.take(table, places)",
    ),
    "one-hot": _lookup("return F.one_hot(ids, table.size(0)).to(table.dtype) @ table"),
    "one-hot einsum": _lookup('return torch.einsum("...v,ve->...e", F.one_hot(ids, len(table)).type_as(table), table)'),
    "one-hot linear": _lookup("return F.linear(F.one_hot(ids, len(table)).to(table), weight=table.t())"),
    "equal": _lookup(
        "hot = ids[..., None] == torch.arange(len(table), device=ids.device)", "return hot.to(table) @ table"
    ),
    "bag": _lookup(f'return F.embedding_bag(ids.reshape(-1, 1), table, mode="sum"){_FLAT}'),
    "unique": _lookup("used, places = ids.unique(return_inverse=True)", "return table[used][places]"),
    "sorted": _lookup(
        "order = ids.flatten().argsort()",
        "rows = table[ids.flatten()[order]]",
        f"return torch.empty_like(rows).index_copy(0, order, rows){_FLAT}",
    ),
    "unbind": _lookup(
        "rows = table.unbind(0)",
        "picked = [rows[i] for i in ids.flatten().tolist()]",
        f"return torch.stack(picked){_FLAT} if picked else table[ids]",
    ),
    "columns": _lookup("return torch.stack([column[ids] for column in table.unbind(1)], dim=-1)"),
    "transposed": _lookup("return table.t()[:, ids].movedim(0, -1)"),
    "functional_call": _lookup(
        "layer = nn.Embedding(*table.shape, device='meta')",
        "return torch.func.functional_call(layer, {'weight': table}, (ids,))",
    ),
    "Function": """
        class Rows(torch.autograd.Function):
            @staticmethod
            def forward(ctx, ids, table):
                ctx.save_for_backward(ids)
                ctx.rows = table.shape[0]
                return table[ids]

            @staticmethod
            def backward(ctx, upstream):
                (ids,) = ctx.saved_tensors
                gradient = upstream.new_zeros(ctx.rows, upstream.shape[-1])
                return None, gradient.index_add_(0, ids.reshape(-1), upstream.reshape(-1, upstream.shape[-1]))

        lookup = Rows.apply
    """,
}

TRAVELS: Axis = {
    "here": "return lookup(input_ids, $table.to(input_ids.device))",
    "table goes": "table = $table.to(device=input_ids.device)\nreturn lookup(input_ids, table)",
    "ids go": "return lookup(input_ids.to($table.device), $table).to(input_ids.device)",
    "where they differ": """
        table = $table
        if table.device != input_ids.device:
            table = table.to(input_ids.device)
        return lookup(input_ids.long(), table)
    """,
    "a copy of the ids": "ids = input_ids.clone().to($table.device)\nreturn lookup(ids, $table).to(input_ids.device)",
}

_KWARGS: Final = "dtype=dtype, device=device"
CREATES: Axis = several(
    "table create",
    {
        "parameter": ("self.weight", "self.weight = nn.Parameter($empty)"),
        "zeros": ("self.table", f"self.table = nn.Parameter(torch.zeros(rows, columns, {_KWARGS}))"),
        "registered": ("self.T", 'self.register_parameter("T", nn.parameter.Parameter(data=$empty))'),
        "nested": ("self.emb.weight", f"self.emb = nn.Embedding(rows, columns, {_KWARGS})"),
        "pretrained": ("self.emb.weight", "self.emb = nn.Embedding.from_pretrained($empty, freeze=False)"),
        "linear": ("self.head.weight", f"self.head = nn.Linear(columns, rows, False, {_KWARGS})"),
        "dict": ('self.p["table"]', "self.p = nn.ParameterDict(dict(table=$empty))"),
        "list": ("self.p[0]", "self.p = nn.ParameterList()\nself.p.append(nn.Parameter($empty))"),
        "sequence": ("self.all[0].weight", f"self.all = nn.Sequential(nn.Embedding(rows, columns, {_KWARGS}))"),
        "Chinese": ("self.词表", "self.词表 = nn.Parameter($empty)"),
    },
)

# These draw normal values only; the others draw uniform ones as well.
NORMAL_DRAWS: Axis = {
    **DRAWS,
    "torch.normal": """
        values = torch.normal($first, $second, $table.shape, dtype=$table.dtype, device=$table.device$by)
        $table.data.copy_(values)
    """,
    "randn": """
        values = torch.randn($table.shape, dtype=$table.dtype, device=$table.device$by)
        $table.data.copy_(values * $second + $first)
    """,
}

AXES: Final[Mapping[str, Axis]] = {
    "lookup": LOOKUPS,
    "travel": TRAVELS,
    "create": CREATES,
    "seeds": SEEDS,
    "draw": NORMAL_DRAWS,
    "frame": FRAMES,
}
MORE: Final = {
    "header": HEADER,
    "empty": "torch.empty((rows, columns), dtype=dtype, device=device)",
    "seed": "self.init_seed",
    "kind_": "normal_",
    "first": "mean",
    "second": "std",
}
