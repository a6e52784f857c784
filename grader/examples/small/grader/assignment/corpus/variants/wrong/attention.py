"""CausalSelfAttention: one fault in what each property asks for."""

import torch
from torch import nn

from grader.specimens.variants import wrong


@wrong("CausalSelfAttention.forward", breaks="attention_heads", also="attention_rotary", hint="attention_unscaled")
def forgets_to_scale_the_scores(self, input):
    """Leaves out the division by sqrt(hd)."""
    projected = (input @ matrix.mT for matrix in (self.query, self.key, self.value))
    query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in projected)
    mixed = nn.functional.scaled_dot_product_attention(
        self.turn(query), self.turn(key), value, is_causal=True, scale=1.0
    )
    return mixed.transpose(1, 2).flatten(-2) @ self.output.mT


@wrong("CausalSelfAttention.forward", breaks="attention_causal", hint="attention_sees_later_tokens")
def sees_later_tokens(self, input):
    """Has no mask."""
    projected = (input @ matrix.mT for matrix in (self.query, self.key, self.value))
    query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in projected)
    mixed = nn.functional.scaled_dot_product_attention(self.turn(query), self.turn(key), value)
    return mixed.transpose(1, 2).flatten(-2) @ self.output.mT


@wrong("CausalSelfAttention.turn", breaks="attention_rotary")
def turns_neighbours(self, x):
    """Pairs each even feature with the next one."""
    seq, head_dim = x.shape[-2:]
    theta = self.base ** (-torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.outer(torch.arange(seq), theta)
    first, second = x[..., ::2], x[..., 1::2]
    turned = (first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin())
    return torch.stack(turned, dim=-1).flatten(-2)


@wrong("CausalSelfAttention.turn", breaks="attention_rotary")
def turns_the_other_way_round(self, x):
    """Takes away the angles, so that a score depends on the distance in the other direction."""
    seq, head_dim = x.shape[-2:]
    theta = 1 / self.base ** (torch.arange(0, head_dim, 2) / head_dim)
    angles = torch.outer(torch.arange(seq), theta).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((second, -first), dim=-1) * angles.sin()
