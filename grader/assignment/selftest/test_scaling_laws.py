"""Laws of the scalings in ``ref/position``: their ends, their limits, and how they are related."""

from __future__ import annotations

import math

import pytest
import torch

from ref.modeling import NTKAwareRoPE
from ref.position import (
    Scaled,
    dynamic_scaling,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    no_scaling,
    ntk_scaling,
    proportional_scaling,
    yarn_attention_factor,
    yarn_ramp_over_pairs,
    yarn_ramp_over_turns,
    yarn_scaling,
)

DIM, TRAINED = 64, 2048
ONES = [1.0] * (DIM // 2)
IDENTITIES = {
    "linear": linear_scaling(DIM, factor=1),
    "ntk": ntk_scaling(DIM, factor=1),
    "dynamic": dynamic_scaling(DIM, length=TRAINED, original_length=TRAINED, factor=8),
    "yarn_turns": yarn_scaling(DIM, factor=1, original_length=TRAINED, ramp="turns"),
    "yarn_pairs": yarn_scaling(DIM, factor=1, original_length=TRAINED, ramp="pairs"),
    "llama3": llama3_scaling(DIM, 10000.0, factor=1),
    "longrope": longrope_scaling(
        DIM, factor=1, original_length=TRAINED, short_factors=ONES, long_factors=ONES, length=2 * TRAINED
    ),
    "proportional": proportional_scaling(DIM, share=1.0),
}


def slowdown(scaled: Scaled) -> torch.Tensor:
    """How many times slower each pair turns, ``[dim/2]``."""
    return inverse_frequencies(DIM) / scaled.inverse_frequencies


@pytest.mark.parametrize("name", IDENTITIES)
def test_nothing_changes_where_there_is_nothing_to_scale(name: str) -> None:
    torch.testing.assert_close(IDENTITIES[name].inverse_frequencies, no_scaling(DIM).inverse_frequencies)
    assert IDENTITIES[name].attention_factor == 1.0


def test_interpolation_slows_every_pair_alike() -> None:
    torch.testing.assert_close(slowdown(linear_scaling(DIM, factor=4)), torch.full((DIM // 2,), 4.0))


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


def test_dynamic_scaling_of_transformers_grows_factor_times_as_fast() -> None:
    """``4 * 3 - 3 = 9`` at three times the length."""
    dynamic = dynamic_scaling(DIM, length=3 * TRAINED, original_length=TRAINED, factor=4)
    torch.testing.assert_close(dynamic.inverse_frequencies, ntk_scaling(DIM, factor=9).inverse_frequencies)


def test_task_4_scales_by_the_smallest_even_factor_that_covers_the_length() -> None:
    rope = NTKAwareRoPE(dim=DIM, max_seq_len=16, dynamic=True)
    rope(torch.zeros(1, 16 * 5, 1, DIM))
    expected = ntk_scaling(DIM, factor=6).inverse_frequencies
    torch.testing.assert_close(rope.cos[1, : DIM // 2], expected.cos())


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 1), (1, 1), (16, 1.2773), (32, 1.3466)])
def test_the_temperature_of_yarn(factor: float, expected: float) -> None:
    """``0.1 * ln(16) + 1 = 1.2773``."""
    assert yarn_attention_factor(factor) == pytest.approx(expected, abs=5e-5)
    scaled = yarn_scaling(DIM, factor=max(factor, 1), original_length=TRAINED, ramp="turns")
    assert scaled.attention_factor == yarn_attention_factor(factor)


@pytest.mark.parametrize("ramp", ["turns", "pairs"])
def test_yarn_spares_pairs_that_turn_often_and_interpolates_those_that_hardly_turn(ramp: str) -> None:
    slower = slowdown(yarn_scaling(DIM, factor=8, original_length=TRAINED, ramp=ramp))  # type: ignore[arg-type]
    turns = TRAINED * inverse_frequencies(DIM) / (2 * math.pi)
    torch.testing.assert_close(slower[turns > 34], torch.ones(int((turns > 34).sum())))
    torch.testing.assert_close(slower[turns < 0.7], torch.full((int((turns < 0.7).sum()),), 8.0))
    between = slower[(turns > 1.5) & (turns < 30)]
    assert ((between > 1) & (between < 8)).all()


def test_the_ramp_of_the_paper_is_linear_in_turns() -> None:
    """Half way between 1 and 32 turns stands 16.5."""
    turns = TRAINED * inverse_frequencies(DIM) / (2 * math.pi)
    gamma = yarn_ramp_over_turns(DIM, original_length=TRAINED)
    torch.testing.assert_close(gamma, ((turns - 1) / 31).clamp(0, 1))
    assert float(yarn_ramp_over_turns(2, original_length=round(33 * math.pi))) == pytest.approx(0.5, abs=0.005)


def test_the_ramp_of_the_code_is_linear_in_the_index_between_whole_pairs() -> None:
    """Worked out by hand: 32 turns at pair 8.1, 1 turn at pair 20.1."""
    gamma = yarn_ramp_over_pairs(DIM, original_length=TRAINED)
    expected = [min(1.0, max(0.0, 1 - (i - 8) / (21 - 8))) for i in range(DIM // 2)]
    torch.testing.assert_close(gamma, torch.tensor(expected))


def test_a_ramp_whose_ends_meet_is_a_step() -> None:
    """Both at pair 8.5."""
    often = TRAINED / (2 * math.pi) * 10000 ** (-8.5 * 2 / DIM)
    gamma = yarn_ramp_over_pairs(DIM, original_length=TRAINED, alpha=often, beta=often, rounded=False)
    assert gamma.tolist() == [1.0] * 9 + [0.0] * (DIM // 2 - 9)


def test_llama_3_spares_four_turns_and_interpolates_one() -> None:
    base = 500000.0
    turns = 8192 * inverse_frequencies(128, base) / (2 * math.pi)
    slower = inverse_frequencies(128, base) / llama3_scaling(128).inverse_frequencies
    assert (slower[turns > 4.01] == 1).all()
    torch.testing.assert_close(slower[turns < 0.99], torch.full((int((turns < 0.99).sum()),), 8.0))
    assert llama3_scaling(128).attention_factor == 1


def test_longrope_divides_by_the_factors_of_its_length() -> None:
    short, long = [1.5] * (DIM // 2), [1.0 + i for i in range(DIM // 2)]
    for length, expected in ((TRAINED, short), (TRAINED + 1, long)):
        scaled = longrope_scaling(
            DIM, factor=4, original_length=TRAINED, short_factors=short, long_factors=long, length=length
        )
        torch.testing.assert_close(slowdown(scaled), torch.tensor(expected))
        assert scaled.attention_factor == pytest.approx(math.sqrt(1 + 2 / 11))  # ln 4 / ln 2048


def test_p_rope_stops_the_slowest_pairs() -> None:
    scaled = proportional_scaling(DIM, share=0.25)
    assert torch.equal(scaled.inverse_frequencies[:8], inverse_frequencies(DIM)[:8])
    assert not scaled.inverse_frequencies[8:].any()
    assert not proportional_scaling(DIM, share=0).inverse_frequencies.any()
