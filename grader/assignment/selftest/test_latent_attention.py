"""Laws of what models since 2024 do with positions: latent attention and several axes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ref.position import (
    LatentAttention,
    axis_of_pairs,
    no_scaling,
)

HIDDEN, HEADS, CONTENT, ROTARY, LATENT = 32, 4, 6, 8, 10
SECTIONS = (2, 3, 3)


@pytest.fixture(name="attention")
def _attention() -> LatentAttention:
    torch.manual_seed(0)
    return LatentAttention(HIDDEN, HEADS, CONTENT, ROTARY, LATENT, no_scaling(ROTARY))


@pytest.fixture(name="x")
def _x() -> Tensor:
    return torch.randn(2, 12, HIDDEN, generator=torch.Generator().manual_seed(1))


def test_the_latent_cache_is_small_and_enough(attention: LatentAttention, x: Tensor) -> None:
    cached = attention.compress(x, torch.arange(12))
    assert cached.shape == (2, 12, LATENT + ROTARY)
    steps = [attention(x[:, p : p + 1], cached[:, : p + 1]) for p in range(12)]
    torch.testing.assert_close(torch.cat(steps, dim=1), attention(x), rtol=0, atol=1e-5)


def test_only_distances_count_in_latent_attention(attention: LatentAttention, x: Tensor) -> None:
    """Other positions, other keys in the cache, but the same products of them."""
    near, far = (attention.compress(x, torch.arange(12) + shift) for shift in (0, 300))
    keys = [cached[..., LATENT:] for cached in (near, far)]
    products = [torch.einsum("bqr,bkr->bqk", part, part) for part in keys]
    torch.testing.assert_close(products[0], products[1], rtol=0, atol=1e-3)
    assert (keys[0] - keys[1]).abs().max() > 0.1


def test_positions_leave_the_latent_vector_alone(attention: LatentAttention, x: Tensor) -> None:
    near, far = (attention.compress(x, torch.arange(12) + shift) for shift in (0, 300))
    assert torch.equal(near[..., :LATENT], far[..., :LATENT])


def test_axes_follow_in_blocks_or_take_turns() -> None:
    assert axis_of_pairs(SECTIONS).tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert axis_of_pairs(SECTIONS, interleaved=True).tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert axis_of_pairs((4, 2, 2), interleaved=True).tolist() == [0, 1, 2, 0, 1, 2, 0, 0]
