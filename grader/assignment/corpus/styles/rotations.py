"""apply_rotary_pos_emb: how a pair turns x how the tables are broadcast x the dtype of the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .axes import HEADER, Axis

TEMPLATE: Final = '''
$header


$function


def turn(x, c, s):
    """Rotate the pairs of ``x`` by tables that broadcast over it."""
    half = x.shape[-1] // 2
    $turn
    return y


def apply_rotary_pos_emb(input, cos, sin):
    """Rotate each pair ``(x_i, x_{i + hd/2})`` by its angle."""
    $cast
    $spread
    return y.to(input.dtype)
'''

FUNCTION: Final = """
class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, c, s):
        ctx.save_for_backward(c, s)
        return x * c + Turn.quarter(x) * s

    @staticmethod
    def backward(ctx, upstream):
        c, s = ctx.saved_tensors
        return upstream * c - Turn.quarter(upstream * s), None, None

    @staticmethod
    def quarter(x):
        a, b = x.chunk(2, -1)
        return torch.cat((-b, a), -1)
"""

TURNS: Axis = {
    "cat": "rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)\n$rotated",
    "chunk": "a, b = torch.chunk(x, 2, -1)\nrotated = torch.cat([b.neg(), a], -1)\n$rotated",
    "negative slices": "rotated = torch.cat((x[..., -half:] * -1, x[..., :-half]), -1)\n$rotated",
    "halves": "$halves\ny = torch.cat((a * c1 - b * s1, b * c1 + a * s1), dim=-1)",
    "stack": "$halves\ny = torch.stack((a * c1 - b * s1, a * s1 + b * c1), dim=-2).flatten(-2)",
    "complex": """
        $halves
        z = torch.complex(a.float(), b.float()) * torch.complex(c1.float(), s1.float())
        y = torch.cat((z.real, z.imag), -1)
    """,
    "view_as_complex": """
        $halves
        z = torch.view_as_complex(torch.stack((a, b), -1).float().contiguous())
        z = z * torch.view_as_complex(torch.stack((c1, s1), -1).float().contiguous())
        y = torch.view_as_real(z).transpose(-1, -2).flatten(-2)
    """,
    "imaginary unit": "$halves\nz = (a.float() + 1j * b.float()) * (c1.float() + 1j * s1.float())\ny = torch.cat([z.real, z.imag], -1)",
    "roll": "$sign\ny = x * c + torch.roll(x, half, dims=-1) * (sign * s)",
    "permuted": "$sign\norder = torch.arange(2 * half, device=x.device).roll(half)\nrotated = x[..., order] * sign\n$rotated",
    "flip": """
        sign = torch.tensor([[-1], [1]], dtype=x.dtype, device=x.device)
        rotated = (x.unflatten(-1, (2, half)).flip(-2) * sign).flatten(-2)
        $rotated
    """,
    "matrix": """
        one = torch.eye(half, dtype=x.dtype, device=x.device)
        zero = torch.zeros_like(one)
        rotated = x @ torch.cat((torch.cat((zero, one), 1), torch.cat((-one, zero), 1)))
        $rotated
    """,
    "einsum": """
        c1, s1 = c[..., :half], s[..., :half]
        matrix = torch.stack((c1, -s1, s1, c1), -1).unflatten(-1, (2, 2))
        y = torch.einsum("...pij,...jp->...ip", matrix, x.unflatten(-1, (2, half))).flatten(-2)
    """,
    "addcmul": "y = torch.addcmul(x * c, torch.cat((-x[..., half:], x[..., :half]), -1), s)",
    "filled": """
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        y[..., :half] = x[..., :half] * c[..., :half] - x[..., half:] * s[..., :half]
        y[..., half:] = x[..., half:] * c[..., :half] + x[..., :half] * s[..., :half]
    """,
    "in place on a product": """
        y = x * c
        y[..., :half] -= x[..., half:] * s[..., half:]
        y[..., half:] += x[..., :half] * s[..., :half]
    """,
    "pair by pair": """
        features = [None] * (2 * half)
        for i in range(half):
            j = i + half
            features[i] = x[..., i] * c[..., i] - x[..., j] * s[..., i]
            features[j] = x[..., j] * c[..., j] + x[..., i] * s[..., j]
        y = torch.stack(features, dim=-1)
    """,
    "Function": {"turn": "y = Turn.apply(x, c, s)", "function": FUNCTION},
}
CASTS: Axis = {
    "float32": "x, c, s = input.float(), cos.float(), sin.float()",
    "float64": "x, c, s = (t.double() for t in (input, cos, sin))",
    "the input's": "x, c, s = input, cos.to(input.dtype), sin.to(input.dtype)",
    "type_as": "x, c, s = input.clone(), cos.type_as(input), sin.type_as(input)",
    "promoted": """
        dtype = torch.promote_types(input.dtype, cos.dtype)
        x, c, s = input.to(dtype), cos.to(dtype), sin.to(dtype)
    """,
    "result_type": "x, c, s = map(lambda t: t.to(torch.result_type(input, cos)), (input, cos, sin))",
}

SPREADS: Axis = {
    "unsqueeze": "y = turn(x, c.unsqueeze(-2), s.unsqueeze(-2))",
    "None": "y = turn(x, c[None, :, None, :], s[None, :, None, :])",
    "view": "size = (1, x.size(1), 1, x.size(3))\ny = turn(x, c.reshape(size), s.reshape(size))",
    "expand": "c, s = (t[:, None].expand(-1, x.shape[2], -1) for t in (c, s))\ny = turn(x, c, s)",
    "expand_as": "y = turn(x, c[None, :, None].expand_as(x), s[None, :, None].expand_as(x))",
    "heads first": "y = turn(x.transpose(1, 2), c, s).transpose(1, 2)",
    "permuted": "y = turn(x.permute(0, 2, 1, 3), c[None, None], s[None, None]).permute(0, 2, 1, 3).contiguous()",
    "repeated": "c, s = c[:, None].repeat(1, x.shape[2], 1), s[:, None].repeat(1, x.shape[2], 1)\ny = turn(x, c, s)",
    "broadcast_tensors": "x, c, s = torch.broadcast_tensors(x, c[:, None], s[:, None])\ny = turn(x, c, s)",
}

AXES: Final[Mapping[str, Axis]] = {"turn": TURNS, "cast": CASTS, "spread": SPREADS}
MORE: Final = {
    "header": HEADER,
    "function": "",
    "halves": "a, b = x.chunk(2, dim=-1)\nc1, s1 = c[..., :half], s[..., :half]",
    "rotated": "y = x * c + rotated * s",
    "sign": "sign = torch.ones(2 * half, dtype=x.dtype, device=x.device)\nsign[:half] = -1",
}
