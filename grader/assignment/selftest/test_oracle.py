"""Laws of the oracle that no comparison with the reference would show."""

from __future__ import annotations

import pytest
import torch

from grader.assignment import oracle


@pytest.mark.parametrize(
    ("length", "ratio"), [(1, 2), (16, 2), (17, 4), (32, 4), (33, 6), (48, 6)], ids=lambda value: str(value)
)
def test_the_oracles_ratio_is_the_smallest_even_one(length: int, ratio: int) -> None:
    assert oracle.smallest_even_ratio(length, 8) == ratio


def test_the_oracles_lowest_frequency_is_divided_by_exactly_the_ratio() -> None:
    plain, scaled = (oracle.ntk_angles(16, 10000.0, ratio, 2)[1] for ratio in (1, 4))
    torch.testing.assert_close(scaled[-1], plain[-1] / 4)
    assert scaled[0] == plain[0]
