"""Laws of the scalings in ``ref/position``: their ends, their limits, and how they are related."""

from __future__ import annotations

import math

import pytest
import torch

from ref.position import (
    Scaled,
    dynamic_scaling,
    inverse_frequencies,
    ntk_scaling,
    proportional_scaling,
    yarn_attention_factor,
    yarn_ramp_over_pairs,
    yarn_ramp_over_turns,
    yarn_scaling,
)

DIM, TRAINED = 64, 2048


def slowdown(scaled: Scaled) -> torch.Tensor:
    """How many times slower each pair turns, ``[dim/2]``."""
    return inverse_frequencies(DIM) / scaled.inverse_frequencies


def test_ntk_keeps_the_first_pair_and_slows_the_last_by_exactly_the_factor() -> None:
    slower = slowdown(ntk_scaling(DIM, factor=8))
    assert slower[0] == 1
    assert float(slower[-1]) == pytest.approx(8, rel=1e-5)
    assert (slower.diff() > 0).all()


@pytest.mark.parametrize(("length", "factor"), [(100, 1), (TRAINED, 1), (TRAINED + 1, 1.0004882812), (5 * TRAINED, 5)])
def test_dynamic_scaling_is_the_paper_s_ntk_of_the_length(length: int, factor: float) -> None:
    """``s = max(1, l' / L)``."""
    dynamic = dynamic_scaling(DIM, length=length, original_length=TRAINED)
    torch.testing.assert_close(dynamic.inverse_frequencies, ntk_scaling(DIM, factor=factor).inverse_frequencies)


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 1), (1, 1), (16, 1.2773), (32, 1.3466)])
def test_the_temperature_of_yarn(factor: float, expected: float) -> None:
    """``0.1 * ln(16) + 1 = 1.2773``."""
    assert yarn_attention_factor(factor) == pytest.approx(expected, abs=5e-5)
    scaled = yarn_scaling(DIM, factor=max(factor, 1), original_length=TRAINED, ramp="turns")
    assert scaled.attention_factor == yarn_attention_factor(factor)


def test_the_ramp_of_the_paper_is_linear_in_turns() -> None:
    """Half way between 1 and 32 turns stands 16.5."""
    turns = TRAINED * inverse_frequencies(DIM) / (2 * math.pi)
    gamma = yarn_ramp_over_turns(DIM, original_length=TRAINED)
    torch.testing.assert_close(gamma, ((turns - 1) / 31).clamp(0, 1))
    assert float(yarn_ramp_over_turns(2, original_length=round(33 * math.pi))) == pytest.approx(0.5, abs=0.005)


def test_a_ramp_whose_ends_meet_is_a_step() -> None:
    """Both at pair 8.5."""
    often = TRAINED / (2 * math.pi) * 10000 ** (-8.5 * 2 / DIM)
    gamma = yarn_ramp_over_pairs(DIM, original_length=TRAINED, alpha=often, beta=often, rounded=False)
    assert gamma.tolist() == [1.0] * 9 + [0.0] * (DIM // 2 - 9)


def test_p_rope_stops_the_slowest_pairs() -> None:
    scaled = proportional_scaling(DIM, share=0.25)
    assert torch.equal(scaled.inverse_frequencies[:8], inverse_frequencies(DIM)[:8])
    assert not scaled.inverse_frequencies[8:].any()
    assert not proportional_scaling(DIM, share=0).inverse_frequencies.any()
