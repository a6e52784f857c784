"""Laws of ``ref/position`` beside no other implementation: encodings and scalings."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ref.position.absolute import LearnedEncoding, binary_encoding, integer_encoding, shift_matrix, sinusoidal_encoding
from ref.position.alibi import alibi_bias
from ref.position.angles import inverse_frequencies, rotary_angles, rotation_matrix
from ref.position.permutation import half_split_order, to_half_split
from ref.position.rope import rotate_adjacent, rotate_complex, rotate_half_split
from ref.position.yarn import yarn_attention_factor, yarn_ramp_over_pairs, yarn_ramp_over_turns, yarn_scaling

HEAD_DIM = 8
POSITIONS = torch.arange(16)


def random(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def angles(positions: Tensor) -> Tensor:
    return rotary_angles(positions, inverse_frequencies(HEAD_DIM))


def test_integers_are_the_positions() -> None:
    assert integer_encoding(torch.tensor([0, 5]), 3).tolist() == [[0, 0, 0], [5, 5, 5]]


def test_bits_are_those_of_the_position_lowest_first() -> None:
    assert binary_encoding(torch.tensor([0, 6, 11]), 4).tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 0, 1]]
    assert binary_encoding(torch.tensor([5]), 70).sum() == 2  # no bit stands twice where shifts would wrap


@pytest.mark.parametrize("offset", [-3, 0, 1, 7])
def test_the_shift_matrix_advances_every_position(offset: int) -> None:
    before, after = (sinusoidal_encoding(10 + POSITIONS + k, HEAD_DIM) for k in (0, offset))
    torch.testing.assert_close(before @ shift_matrix(offset, HEAD_DIM).T, after, rtol=0, atol=1e-5)


def test_frequencies_fall_from_1_by_a_constant_ratio() -> None:
    assert inverse_frequencies(8).tolist() == pytest.approx([1, 0.1, 0.01, 0.001])
    with pytest.raises(ValueError, match="dim=7 is odd"):
        inverse_frequencies(7)


def test_each_position_has_a_learned_row() -> None:
    learned = LearnedEncoding(max_len=4, dim=3)
    rows = learned(torch.arange(4))
    assert rows.shape == (4, 3)
    assert torch.equal(learned(torch.tensor([2, 3])), rows[2:])
    assert len(rows.unique(dim=0)) == 4


def test_a_learned_table_ends() -> None:
    with pytest.raises(ValueError, match=r"position 4 has no row in a learned table of max_len=4"):
        LearnedEncoding(max_len=4, dim=3)(torch.tensor([3, 4]))


@pytest.mark.parametrize("rotate", [rotate_adjacent, rotate_complex, rotate_half_split])
def test_the_factor_multiplies_what_is_rotated_and_the_dtype_stays(rotate: Callable[..., Tensor]) -> None:
    x = random(2, 16, 3, HEAD_DIM)
    torch.testing.assert_close(rotate(x, angles(POSITIONS), 1.5), 1.5 * rotate(x, angles(POSITIONS)))
    assert torch.equal(rotate(x[:, :1].bfloat16(), angles(torch.tensor([0]))), x[:, :1].bfloat16())


def test_adjacent_complex_and_matrix_are_one_rotation() -> None:
    x = random(2, 16, 3, HEAD_DIM)
    adjacent = rotate_adjacent(x, angles(POSITIONS))
    torch.testing.assert_close(rotate_complex(x, angles(POSITIONS)), adjacent)
    matrices = torch.stack([rotation_matrix(angle) for angle in angles(POSITIONS)])
    torch.testing.assert_close(torch.einsum("sij,bshj->bshi", matrices, x), adjacent)


def test_half_split_rotation_is_adjacent_rotation_of_permuted_features() -> None:
    x, order = random(2, 16, 3, HEAD_DIM), half_split_order(HEAD_DIM)
    adjacent = rotate_adjacent(x, angles(POSITIONS))
    torch.testing.assert_close(rotate_half_split(x[..., order], angles(POSITIONS)), adjacent[..., order])


def test_rows_that_make_no_heads_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"24 rows do not divide into num_heads=5"):
        to_half_split(random(24), 5)


def test_the_bias_is_slope_times_distance_and_sees_no_shift() -> None:
    slopes = torch.tensor([0.5, 0.25])
    positions = torch.arange(3)
    bias = alibi_bias(slopes, positions, positions)
    assert bias[0].tril().tolist() == [[0, 0, 0], [-0.5, 0, 0], [-1, -0.5, 0]]
    assert torch.equal(bias[1], bias[0] / 2)
    assert torch.equal(alibi_bias(slopes, positions + 100, positions + 100), bias)


DIM, TRAINED = 64, 2048


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
