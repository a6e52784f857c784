"""Laws of what models since 2024 do with positions: latent attention and several axes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ref.position import (
    LatentAttention,
    axis_of_pairs,
    causal_mask,
    inverse_frequencies,
    multi_axis_angles,
    no_scaling,
    rotary_angles,
    rotate_adjacent,
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


def expanded(attention: LatentAttention, x: Tensor) -> Tensor:
    """The same layer with keys and values of full size for every head."""
    positions = torch.arange(x.shape[1])
    cached = attention.compress(x, positions)
    pairs = attention.up(cached[..., :LATENT]).unflatten(-1, (HEADS, 2, CONTENT))
    shared = cached[..., LATENT:].unsqueeze(2).expand(-1, -1, HEADS, -1)
    keys = torch.cat((pairs[..., 0, :], shared), dim=-1)
    content, rotary = attention.query(x).unflatten(-1, (HEADS, -1)).split((CONTENT, ROTARY), dim=-1)
    angles = rotary_angles(positions, inverse_frequencies(ROTARY))
    queries = torch.cat((content, rotate_adjacent(rotary, angles)), dim=-1)
    logits = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / math.sqrt(CONTENT + ROTARY)
    weights = logits.masked_fill(causal_mask(positions, positions), -math.inf).softmax(-1)
    mixed = torch.einsum("bhqk,bkhd->bqhd", weights, pairs[..., 1, :])
    return attention.output(mixed.flatten(-2))  # type: ignore[no-any-return]


def test_queries_taken_to_the_latent_space_give_what_full_keys_give(attention: LatentAttention, x: Tensor) -> None:
    torch.testing.assert_close(attention(x), expanded(attention, x), rtol=0, atol=1e-5)


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


@pytest.mark.parametrize("interleaved", [False, True])
def test_text_is_rotated_as_ever_on_all_axes(interleaved: bool) -> None:
    theta, positions = inverse_frequencies(16), torch.arange(20)
    axes = axis_of_pairs(SECTIONS, interleaved=interleaved)
    angles = multi_axis_angles(positions.expand(3, -1), theta, axes)
    assert torch.equal(angles, rotary_angles(positions, theta))


def test_axes_follow_in_blocks_or_take_turns() -> None:
    assert axis_of_pairs(SECTIONS).tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert axis_of_pairs(SECTIONS, interleaved=True).tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert axis_of_pairs((4, 2, 2), interleaved=True).tolist() == [0, 1, 2, 0, 1, 2, 0, 0]


def test_a_pair_follows_its_own_axis() -> None:
    theta, axes = inverse_frequencies(16), axis_of_pairs(SECTIONS)
    positions = torch.zeros(3, 5)
    positions[1] = torch.arange(5)
    angles = multi_axis_angles(positions, theta, axes)
    assert (angles[:, axes != 1] == 0).all()
    assert torch.equal(angles[:, axes == 1], rotary_angles(torch.arange(5), theta)[:, axes == 1])


def test_a_product_depends_on_the_step_in_each_axis_alone() -> None:
    theta, axes = inverse_frequencies(16), axis_of_pairs(SECTIONS, interleaved=True)
    query, key = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(2))
    step = torch.tensor([[1.0], [-2.0], [5.0]])
    products = []
    for place in (torch.tensor([[0.0], [7.0], [1.0]]), torch.tensor([[40.0], [9.0], [30.0]])):
        at, there = (multi_axis_angles(where, theta, axes) for where in (place, place + step))
        products.append(float((rotate_adjacent(query, at) * rotate_adjacent(key, there)).sum()))
    assert products[0] == pytest.approx(products[1], abs=1e-4)
