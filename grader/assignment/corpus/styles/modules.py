"""NTKAwareRoPE: how the tables are made x how they are registered and kept x how k' is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .axes import FRAMES, HEADER, Axis, several

TEMPLATE: Final = '''
$header


$imported
$helpers


$cached
def make_tables(dim, length, base, ratio, dtype, device):
    """The cosines and sines of ``length`` positions, ``[length, dim]``."""
    $base
    $theta
    $positions
    $outer
    $doubled
    $trig
    return cos.to(dtype), sin.to(dtype)


def smallest_even(seq_len, max_seq_len):
    """The smallest even ratio that covers ``seq_len`` positions."""
    $grow


class NTKAwareRoPE($bases):
    """Rotary position embedding with NTK-aware scaling."""

    def __init__(self, dim: int, max_seq_len: int, base: int = 10000, ratio: int = 1, dynamic: bool = False, dtype=torch.float32, device="cpu"):
        super().__init__()
        self.dim, self.max_seq_len, self.base, self.dynamic = dim, max_seq_len, base, dynamic
        self.ratio = ratio
        cos, sin = make_tables(dim, max_seq_len * ratio, base, ratio, dtype, device)
        $register

    $property

    def tables_for(self, ratio):
        like = self.$c
        return make_tables(self.dim, self.max_seq_len * ratio, self.base, ratio, like.dtype, like.device)

    def store(self, ratio, cos, sin):
        self.ratio = ratio
        $store

    $decorator
    def forward(self, input):
        seq_len = input.shape[1]
        cos, sin = self.$c, self.$s
        $choose
        $cut
        return $apply
'''

BASES: Axis = {
    "formula": "b = base * ratio ** (dim / (dim - 2)) if ratio > 1 else base",
    "early": "b = float(base)\nif ratio != 1:\n    b *= math.pow(ratio, dim / (dim - 2))",
    "logarithms": "b = base if ratio == 1 else math.exp(math.log(base) + math.log(ratio) * dim / (dim - 2))",
    "guarded": "b = base * float(ratio) ** (dim / max(dim - 2, 1))",
    "halves": "b = base * ratio ** ((dim // 2) / (dim // 2 - 1)) if dim > 2 else base",
}

THETAS: Axis = {
    "power": "theta = b ** -(torch.arange(0, dim, 2, dtype=torch.float32, device=device) / dim)",
    "inverse": "theta = 1.0 / (b ** (torch.arange(0, dim, 2, device=device).float() / dim))",
    "exp": "theta = torch.exp(torch.arange(0, dim, 2, dtype=torch.float32, device=device) * (-math.log(b) / dim))",
    "double": "theta = torch.pow(b, torch.arange(0, dim, 2, dtype=torch.float64, device=device).neg() / dim)",
    "double, rounded": "i = torch.arange(dim // 2).double()\ntheta = (1 / b ** (2 * i / dim)).to(device, torch.float32)",
    "list": "theta = torch.tensor([b ** (-2 * i / dim) for i in range(dim // 2)], device=device)",
    "logspace": "theta = torch.logspace(0, (2 - dim) / dim, dim // 2, base=b, device=device)",
    "float_power": "theta = torch.float_power(b, torch.linspace(0, 2 / dim - 1, dim // 2, device=device)).float()",
    "accumulated": """
        steps = itertools.repeat(b ** (-2 / dim), dim // 2 - 1)
        theta = torch.tensor([*itertools.accumulate(steps, lambda x, y: x * y, initial=1.0)], device=device)
    """,
    "from the unscaled": """
        i = torch.arange(dim // 2, dtype=torch.float64)
        theta = base ** (-2 * i / dim) * ratio ** (-i / max(dim // 2 - 1, 1))
        theta = theta.float().to(device)
    """,
    "map": "theta = torch.as_tensor(list(map(lambda i: math.pow(b, -i / dim), range(0, dim, 2)))).to(device)",
}

POSITIONS: Axis = {
    "arange": "n = torch.arange(length, dtype=theta.dtype, device=device)",
    "converted": "n = torch.arange(0, length, device=device).to(theta)",
    "linspace": "n = torch.linspace(0, length - 1, length, dtype=theta.dtype, device=device)",
    "cumsum": "n = torch.ones(length, dtype=theta.dtype, device=device).cumsum(0) - 1",
    "type_as": "n = torch.arange(length).type_as(theta).to(device)",
    "double": "theta = theta.double()\nn = torch.arange(length, dtype=torch.float64, device=device)",
}

DOUBLED: Axis = {
    "cat": "a = torch.cat((a, a), dim=-1)",
    "repeat": "a = a.repeat(1, 2)",
    "tile": "a = torch.tile(a, (2,))",
    "expand": "a = a.unsqueeze(1).expand(-1, 2, -1).reshape(length, dim)",
    "stack": "a = torch.stack([a] * 2, dim=1).flatten(1)",
    "index": "a = a[:, torch.arange(dim, device=a.device) % (dim // 2)]",
}
OUTERS: Axis = {
    "outer": "a = torch.outer(n, theta)",
    "broadcast": "a = n[:, None] * theta[None, :]",
    "einsum": 'a = torch.einsum("i,j->ij", n, theta)',
    "matmul": "a = n.unsqueeze(1) @ theta.unsqueeze(0)",
}
TRIGS: Axis = {
    "methods": "cos, sin = a.cos(), a.sin()",
    "double": "cos, sin = torch.cos(a.double()), torch.sin(a.double())",
    "polar": "z = torch.polar(torch.ones_like(a), a)\ncos, sin = z.real.contiguous(), z.imag.contiguous()",
    "exp": "z = torch.exp(1j * a.double())\ncos, sin = z.real.clone(), z.imag.clone()",
}
GROWS: Axis = {
    "ceil": "k = math.ceil(seq_len / max_seq_len)\nreturn k + k % 2",
    "half": "return 2 * math.ceil(seq_len / (2 * max_seq_len))",
    "minus": "return 2 * -(-seq_len // (2 * max_seq_len))",
    "while": "k = 2\nwhile max_seq_len * k < seq_len:\n    k += 2\nreturn k",
    "next": "return next(k for k in itertools.count(2, 2) if max_seq_len * k >= seq_len)",
    "bits": "return ((seq_len + max_seq_len - 1) // max_seq_len + 1) & ~1",
    "divmod": "k, rest = divmod(seq_len, max_seq_len)\nk += rest > 0\nreturn k if k % 2 == 0 else k + 1",
    "recursive": "return 2 if seq_len <= 2 * max_seq_len else 2 + smallest_even(seq_len - 2 * max_seq_len, max_seq_len)",
}

REGISTERS: Axis = {
    "register_buffer": 'self.register_buffer("$c", cos, persistent=False)\nself.register_buffer("$s", sin, persistent=False)',
    "loop": 'for name, table in {"$c": cos, "$s": sin}.items():\n    self.register_buffer(name, table, persistent=False)',
    "Buffer": "self.$c, self.$s = nn.Buffer(cos, persistent=False), nn.Buffer(sin, persistent=False)",
    "partial": 'add = functools.partial(self.register_buffer, persistent=False)\nadd("$c", cos)\nadd("$s", sin)',
    "and another": """
        for name, buffer in zip(("$c", "$s", "positions"), (cos, sin, torch.arange(len(cos), device=device))):
            self.register_buffer(name, buffer, persistent=False)
    """,
}
NAMES: Axis = several(
    "c s",
    {
        "plain": ("cos", "sin"),
        "cached": ("cos_cached", "sin_cached"),
        "capital": ("C", "S"),
        "private": ("_cos", "_sin"),
    },
)
STORES: Axis = {
    "assign": "self.$c, self.$s = cos, sin",
    "again": 'self.register_buffer("$c", cos, persistent=False)\nself.register_buffer("$s", sin, persistent=False)',
    "setattr": 'for name, table in zip(("$c", "$s"), (cos, sin)):\n    setattr(self, name, table)',
    "dict": 'self._buffers.update({"$c": cos, "$s": sin})',
    "deleted": "del self.$c, self.$s\nfor name, t in dict($c=cos, $s=sin).items():\n    self.register_buffer(name, t, persistent=False)",
}
SIZES: Axis = several(
    "es property",
    {
        "shape": ("self.$c.shape[0]", ""),
        "len": ("len(self.$s)", ""),
        "product": ("self.max_seq_len * self.ratio", ""),
        "property": ("self.es", "@property\ndef es(self):\n    return self.max_seq_len * self.ratio\n"),
    },
)
CHOICES: Axis = {
    "if": """
        if seq_len > $es:
            k = smallest_even(seq_len, self.max_seq_len)
            cos, sin = self.tables_for(k)
            if self.dynamic:
                self.store(k, cos, sin)
    """,
    "stored, then read": """
        if seq_len > $es and self.dynamic:
            k = smallest_even(seq_len, self.max_seq_len)
            self.store(k, *self.tables_for(k))
            cos, sin = self.$c, self.$s
        elif seq_len > $es:
            cos, sin = self.tables_for(smallest_even(seq_len, self.max_seq_len))
    """,
    "match": """
        if seq_len > $es:
            ratio = smallest_even(seq_len, self.max_seq_len)
            cos, sin = self.tables_for(ratio)
            match self.dynamic:
                case False:
                    pass
                case _:
                    self.store(ratio, cos, sin)
    """,
    "put back": """
        kept = self.ratio, cos, sin
        if seq_len > $es:
            k = smallest_even(seq_len, self.max_seq_len)
            self.store(k, *self.tables_for(k))
            cos, sin = self.$c, self.$s
            if not self.dynamic:
                self.store(*kept)
    """,
}
CUTS: Axis = {
    "slice": "cos, sin = cos[:seq_len], sin[:seq_len]",
    "both": "cos, sin = cos[0:seq_len, :], sin[0:seq_len, :]",
    "narrow": "cos, sin = cos.narrow(0, 0, seq_len), sin.narrow(0, 0, seq_len)",
    "positions": "places = torch.arange(seq_len, device=cos.device)\ncos, sin = cos[places], sin[places]",
    "split": "(cos, *_), (sin, *_) = cos.split(seq_len), sin.split(seq_len)",
    "embedding": "places = torch.arange(seq_len, device=cos.device)\ncos, sin = F.embedding(places, cos), F.embedding(places, sin)",
}
APPLIES: Axis = several(
    "imported apply",
    {
        "name": ("from ..functional import apply_rotary_pos_emb", "apply_rotary_pos_emb(input, cos, sin)"),
        "keywords": ("from ..functional import apply_rotary_pos_emb as f", "f(input=input, cos=cos, sin=sin)"),
        "module": ("from .. import functional", "functional.apply_rotary_pos_emb(input, cos, sin=sin)"),
        "absolute": (
            "from src.functional import *\nfrom src.functional import apply_rotary_pos_emb",
            "apply_rotary_pos_emb(input, cos, sin)",
        ),
        "whole path": ("import src.functional", "src.functional.apply_rotary_pos_emb(input, cos, sin)"),
        "late": (
            "def late():\n    from .. import functional\n\n    return functional\n",
            "late().apply_rotary_pos_emb(input, cos, sin)",
        ),
    },
)
CACHES: Axis = {"none": "", "lru_cache": "@functools.lru_cache(maxsize=8)", "cache": "@functools.cache"}

AXES: Final[Mapping[str, Axis]] = {
    "base": BASES,
    "theta": THETAS,
    "positions": POSITIONS,
    "outer": OUTERS,
    "doubled": DOUBLED,
    "trig": TRIGS,
    "cached": CACHES,
    "grow": GROWS,
    "register": REGISTERS,
    "names": NAMES,
    "store": STORES,
    "size": SIZES,
    "choose": CHOICES,
    "cut": CUTS,
    "applied": APPLIES,
    "frame": FRAMES,
}
MORE: Final = {"header": HEADER}
