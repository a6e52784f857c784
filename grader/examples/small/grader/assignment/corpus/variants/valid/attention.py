"""CausalSelfAttention, otherwise than the reference."""

import torch
from torch import nn

from grader.specimens.variants import valid


@valid("CausalSelfAttention.forward")
def torchs_own_attention(self, input):
    """Leaves scores, mask and softmax to scaled_dot_product_attention."""
    projected = (input @ matrix.mT for matrix in (self.query, self.key, self.value))
    query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in projected)
    mixed = nn.functional.scaled_dot_product_attention(self.turn(query), self.turn(key), value, is_causal=True)
    return mixed.transpose(1, 2).flatten(-2) @ self.output.mT


@valid("CausalSelfAttention.turn")
def turns_complex_numbers(self, x):
    """Takes each pair for a complex number, and multiplies it with one of length one."""
    seq, head_dim = x.shape[-2:]
    theta = 1 / self.base ** (torch.arange(0, head_dim, 2) / head_dim)
    turns = torch.exp(1j * torch.outer(torch.arange(seq), theta))
    pairs = torch.complex(*x.chunk(2, dim=-1)) * turns
    return torch.cat((pairs.real, pairs.imag), dim=-1)
