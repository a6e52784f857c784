"""Task 2, SwiGLU: ``y = (silu(x gate^T) * (x up^T)) down^T``, with a gate that is easy: silu(ln 3) = 3/4 ln 3."""

import math

import pytest
import torch

from src.swiglu import SwiGLU

from .harness.compare import assert_close, draw_limit, forward_limit
from .harness.parameters import set_weights, weights


def build(gate, up, down):
    """Build a layer of two features, one in between, with the given matrices."""
    return set_weights(SwiGLU(2, 1), *torch.tensor([[gate], [up]]), torch.tensor(down).view(2, 1))


@pytest.mark.rubric("swiglu_gate")
def test_a_gate_of_zero_lets_nothing_pass(device):
    """silu(0) = 0, whatever the other projection is.

    silu(0) = 0，不论另一个投影是多少。
    """
    layer = build(gate=[0.0, 1.0], up=[5.0, 5.0], down=[1.0, 1.0]).to(device)
    assert_close(layer(torch.tensor([[[3.0, 0.0]]], device=device)), torch.zeros(1, 1, 2), torch.zeros(()))


@pytest.mark.rubric("swiglu_gate")
def test_only_the_gate_goes_through_silu(device):
    """The gate is ln 3, the other projection 8: 3/4 ln 3 * 8 = 6 ln 3, which goes to both features, once as minus.

    门控是 ln 3，另一个投影是 8：3/4 ln 3 * 8 = 6 ln 3，送到两个特征，其中一个取负号。
    """
    layer = build(gate=[math.log(3), 0.0], up=[0.0, 8.0], down=[1.0, -1.0]).to(device)
    expected = 6 * math.log(3) * torch.tensor([[[1.0, -1.0]]])
    assert_close(layer(torch.ones(1, 1, 2, device=device)), expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("swiglu_weights")
@pytest.mark.parametrize(("std", "seed"), [(0.02, 42), (3.0, 7)], ids=["defaults", "std-3-and-seed-7"])
def test_the_matrices_are_three_draws_after_one_seeding(std, seed):
    """Seed, then draw gate and up, [f, h] each, and down, [h, f]; reset_parameters() does the same again.

    设种子，然后依次采样 gate、up（都是 [f, h]）和 down（[h, f]）；reset_parameters() 再做一遍。
    """
    layer = SwiGLU(16, 32) if seed == 42 else SwiGLU(16, 32, init_std=std, init_seed=seed)
    source = torch.Generator().manual_seed(seed)
    drawn = [torch.empty(shape).normal_(0, std, generator=source) for shape in ((32, 16), (32, 16), (16, 32))]
    for _ in range(2):
        for matrix, expected in zip(weights(layer, len(drawn)), drawn, strict=True):
            assert_close(matrix, expected, draw_limit(expected, torch.float32))
        set_weights(layer, *map(torch.zeros_like, drawn)).reset_parameters()
