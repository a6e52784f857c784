"""GroupRMSNorm: how a mean square is taken x how it divides x how groups are made x dtypes x gamma x its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .axes import CHECKS, DRAWS, FRAMES, HEADER, SEEDS, Axis, several

TEMPLATE: Final = '''
$header


$function


$helpers


def normalise(x, eps):
    """Divide ``x``, ``[..., gz]``, by its root mean square."""
    gz = x.shape[-1]
    $mean
    return $divide


class GroupRMSNorm($bases):
    """RMSNorm over groups of features."""

    def __init__(self, hidden_size: int, group_size: int, eps: float = 1e-5, init_range: tuple = (-1.0, 1.0), init_seed: int = 42, dtype=torch.float32, device="cpu"):
        super().__init__()
        $check
        self.hidden_size, self.group_size, self.eps = hidden_size, group_size, eps
        self.init_range = init_range
        self.init_seed = init_seed
        $create
        self.reset_parameters()

    def reset_parameters(self):
        low, high = self.init_range
        $seeds

    $decorator
    def forward(self, input):
        gz, eps = self.group_size, self.eps
        $travel
'''

MEANS: Axis = {
    "pow": "m = x.pow(2).mean(-1, keepdim=True)",
    "square": "m = torch.mean(torch.square(x), dim=-1, keepdim=True)",
    "sum": "m = (x * x).sum(dim=-1, keepdim=True) / gz",
    "einsum": 'm = torch.einsum("...i,...i->...", x, x).unsqueeze(-1) / gz',
    "norm": "m = torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / gz",
    "Tensor.norm": "m = x.norm(2, dim=-1, keepdim=True).square().div(gz)",
    "vecdot": "m = torch.linalg.vecdot(x, x)[..., None] / gz",
    "variance": "m = torch.var(x, dim=-1, correction=0, keepdim=True) + x.mean(-1, keepdim=True) ** 2",
    "var_mean": """
        variance, average = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        m = torch.addcmul(variance, average, average)
    """,
    "matmul": "m = (x.unsqueeze(-2) @ x.unsqueeze(-1)).squeeze(-1) / gz",
    "pool": "m = F.avg_pool1d(x.square().reshape(-1, 1, gz), gz).reshape(*x.shape[:-1], 1)",
    "ones": "m = x.square() @ x.new_full((gz, 1), 1 / gz)",
    "linear": "m = F.linear(x * x, torch.ones(1, gz, dtype=x.dtype, device=x.device)) / gz",
    "mse": 'm = F.mse_loss(x, torch.zeros_like(x), reduction="none").mean(-1, True)',
    "scaled first": "m = (x * gz**-0.5).square().sum(-1, keepdim=True)",
    "reduce": """
        columns = x.split(1, dim=-1)
        m = functools.reduce(lambda total, c: torch.addcmul(total, c, c), columns, torch.zeros_like(columns[0])) / gz
    """,
    "nanmean": "m = torch.nanmean(x.abs() ** 2, dim=-1).unsqueeze(-1)",
}

FUNCTION: Final = """
class DivideByRoot(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, eps):
        return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.eps = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        inverse = (x.square().mean(-1, keepdim=True) + ctx.eps).rsqrt()
        return inverse * (upstream - x * inverse.square() * (upstream * x).mean(-1, keepdim=True)), None
"""

DIVIDES: Axis = {
    "rsqrt": "x * torch.rsqrt(m + eps)",
    "sqrt": "x / torch.sqrt(m + eps)",
    "div": "torch.div(x, m.add(eps).sqrt())",
    "pow": "x * (m + eps).pow(-0.5)",
    "star": "x / (m + eps) ** 0.5",
    "reciprocal": "x.mul((m + eps).sqrt().reciprocal())",
    "addcdiv": "torch.addcdiv(torch.zeros_like(x), x, (m + eps).sqrt())",
    "in float64": "(x.double() / (m.double() + eps).sqrt()).to(x.dtype)",
    "F.rms_norm": "F.rms_norm(x, (gz,), eps=eps)",
    "nn.RMSNorm": "nn.RMSNorm(gz, eps=eps, elementwise_affine=False)(x)",
    "hypot": "x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True) / gz**0.5, x.new_tensor(eps**0.5))",
    "padded": "x * gz**0.5 / torch.linalg.vector_norm(F.pad(x, (0, 1), value=(gz * eps) ** 0.5), dim=-1, keepdim=True)",
    "Function": {"divide": "DivideByRoot.apply(x, eps)", "function": FUNCTION},
}
GROUPS: Axis = {
    "view": "y = normalise(x.view(*x.shape[:-1], -1, gz), eps).reshape(x.shape)",
    "reshape": "b, s, h = x.shape\ny = normalise(x.reshape(b, s, h // gz, gz), eps).reshape(b, s, h)",
    "rows": "y = normalise(x.reshape(-1, gz), eps).reshape(x.shape)",
    "unflatten": "y = normalise(x.unflatten(-1, (-1, gz)), eps).flatten(-2)",
    "unfold": "y = normalise(x.unfold(-1, gz, gz), eps).flatten(2)",
    "split": "y = torch.cat([normalise(group, eps) for group in x.split(gz, dim=-1)], dim=-1)",
    "chunk": "y = torch.cat(tuple(map(lambda part: normalise(part, eps), x.chunk(x.size(2) // gz, 2))), 2)",
    "stack": "y = torch.stack([normalise(g, eps) for g in torch.split(x, gz, -1)], -2).reshape_as(x)",
    "slices": """
        y = torch.empty_like(x)
        for start in range(0, x.shape[-1], gz):
            y[..., start : start + gz] = normalise(x[..., start : start + gz], eps)
    """,
    "groups first": "y = normalise(x.unflatten(-1, (-1, gz)).movedim(-2, 0), eps).movedim(0, -2).flatten(-2)",
    "batch by batch": "y = torch.stack([normalise(row.view(len(row), -1, gz), eps).flatten(1) for row in x])",
    "strided": """
        b, s, h = x.shape
        y = normalise(x.contiguous().as_strided((b, s, h // gz, gz), (s * h, h, gz, 1)), eps).reshape(b, s, h)
    """,
    "repeated root": """
        roots = x.square().unflatten(-1, (-1, gz)).mean(-1).add(eps).sqrt()
        y = x / roots.repeat_interleave(gz, dim=-1)
    """,
    "adaptive pool": """
        means = F.adaptive_avg_pool1d(x.square(), x.shape[-1] // gz)
        y = x * (means + eps).rsqrt().unsqueeze(-1).expand(-1, -1, -1, gz).reshape(x.shape)
    """,
    "index_add": """
        owner = torch.arange(x.shape[-1], device=x.device) // gz
        sums = x.new_zeros(*x.shape[:-1], x.shape[-1] // gz).index_add(-1, owner, x * x)
        y = x / (sums / gz + eps).sqrt()[..., owner]
    """,
    "averaging matrix": """
        average = torch.kron(torch.eye(x.shape[-1] // gz), torch.full((gz, gz), 1 / gz)).to(x)
        y = x * torch.rsqrt(x.square() @ average + eps)
    """,
    "vmap": "y = torch.vmap(normalise, in_dims=(-2, None), out_dims=-2)(x.unflatten(-1, (-1, gz)), eps).flatten(-2)",
}

UPCASTS: Axis = {
    "float": "x = input.float()",
    "to": "x = input.to(torch.float32)",
    "double": "x = input.double()",
    "copy": "x = input.to(dtype=torch.float32, copy=True)",
    "promoted": "x = input.to(torch.promote_types(input.dtype, torch.float32))",
    "where 16 bits": "x = input if input.dtype in (torch.float32, torch.float64) else input.float()",
}

SCALES: Axis = {
    "times": "out = (y * gamma).to(input.dtype)",
    "type_as": "out = torch.mul(gamma, y).type_as(input)",
    "all float": "out = (y.float() * gamma.float()).to(dtype=input.dtype)",
    "cast, then scaled": "out = (y.to(input.dtype) * gamma).to(input.dtype)",
    "both cast": "out = y.to(input.dtype) * gamma.to(input.dtype)",
    "einsum": 'out = torch.einsum("bsh,h->bsh", y, gamma.to(y.dtype)).to(input.dtype)',
    "diagonal": "out = (y @ torch.diag(gamma.to(y.dtype))).to(input.dtype)",
    "addcmul": "out = torch.addcmul(torch.zeros_like(y), y, gamma.to(y.dtype)).to(input.dtype)",
    "copied": "out = torch.empty(input.shape, dtype=input.dtype, device=input.device)\nout.copy_(y * gamma)",
    "by group": "out = (y.unflatten(-1, (-1, gz)) * gamma.view(-1, gz)).flatten(-2).to(input.dtype)",
}

TRAVELS: Axis = {
    "gamma goes": "gamma = $table.flatten().to(input.device)\n$work\nreturn out",
    "gamma goes in float": "gamma = $table.reshape(-1).to(input.device, torch.float32)\n$work\nreturn out",
    "input goes": """
        home, gamma = input.device, $table.view(-1)
        input = input.to(gamma.device)
        $work
        return out.to(home)
    """,
}

CREATES: Axis = several(
    "table create",
    {
        "parameter": ("self.gamma", "self.gamma = nn.Parameter($empty)"),
        "row": ("self.weight", "self.weight = nn.Parameter($empty.view(1, 1, -1))"),
        "by group": ("self.scale", "self.scale = torch.nn.Parameter($empty.reshape(-1, group_size))"),
        "registered": ("self.g", 'self.register_parameter("g", nn.Parameter(torch.ones_like($empty)))'),
        "dict": ('self.params["gamma"]', 'self.params = nn.ParameterDict({"gamma": $empty})'),
        "list": ("self.params[0]", "self.params = nn.ParameterList([nn.Parameter($empty)])"),
        "Greek": ("self.γ", 'setattr(self, "γ", nn.Parameter($empty))'),  # noqa: RUF001
        "in a norm": ("self.norm.weight", "self.norm = nn.RMSNorm(hidden_size, device=device, dtype=dtype)"),
        "by name": ("self.get_parameter('scale')", "self._parameters['scale'] = nn.Parameter($empty)"),
    },
)

AXES: Final[Mapping[str, Axis]] = {
    "mean": MEANS,
    "divide": DIVIDES,
    "groups": GROUPS,
    "upcast": UPCASTS,
    "scale": SCALES,
    "travel": TRAVELS,
    "create": CREATES,
    "seeds": SEEDS,
    "draw": DRAWS,
    "check": CHECKS,
    "frame": FRAMES,
}
MORE: Final = {
    "header": HEADER,
    "function": "",
    "work": "$upcast\n$groups\n$scale",
    "empty": "torch.empty(hidden_size, dtype=dtype, device=device)",
    "whole": "hidden_size",
    "part": "group_size",
    "seed": "self.init_seed",
    "kind_": "uniform_",
    "first": "low",
    "second": "high",
}
