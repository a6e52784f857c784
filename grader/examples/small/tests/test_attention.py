"""Task 1, CausalSelfAttention: small cases whose result can be worked out by hand.

Angles are multiples of ``base^(-2i/hd)``, so with a huge base only the pairs with ``i = 0`` turn: features 0 and 2 of a
head of four. What stands in features 1 and 3 is compared as it is.
"""

import math

import pytest
import torch

from src.attention import CausalSelfAttention

from .harness.compare import assert_close, forward_limit
from .harness.parameters import set_weights

ZERO, ONE = torch.zeros(8, 8), torch.eye(8)
HUGE = 1e30


def build(query, key=ONE, value=ONE, output=ONE, **arguments):
    """Build a layer with the given matrices, all the identity but for the query's."""
    return set_weights(CausalSelfAttention(hidden_size=8, **arguments), query, key, value, output)


def only(*features):
    """Return a matrix that keeps these features and sets the others to zero."""
    matrix = torch.zeros(8)
    matrix[list(features)] = 1
    return matrix.diag()


@pytest.mark.rubric("attention_heads")
def test_scores_ln_3_apart_share_three_to_one(device):
    """The last query is 2 ln 3 in features 1 and 5. Keys that are 1 apart there get scores 2 ln 3 / sqrt(4) apart.

    最后一个 query 的第 1、5 个特征是 2 ln 3。这两个特征上相差 1 的 key，分数相差 2 ln 3 / sqrt(4)。
    """
    x = torch.tensor([[[8.0, 2.0, 8.0, 8.0, 8.0, 0.0, 8.0, 8.0], [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]]])
    layer = build(2 * math.log(3) * only(1, 5), heads=2, base=HUGE).to(device)
    shares = torch.tensor([0.75] * 4 + [0.25] * 4)  # what token 0 gets: three quarters in head 0, a quarter in head 1
    expected = shares * x[0, 0] + (1 - shares) * x[0, 1]
    assert_close(layer(x.to(device))[0, 1], expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("attention_causal")
def test_queries_of_zeros_give_the_mean_so_far(device):
    """All scores are zero, so every token takes equal shares of its own value and of those before it.

    所有分数都是零，所以每个 token 把自己和之前的 value 平均。
    """
    x = torch.arange(1.0, 33.0).view(1, 4, 8)
    expected = torch.stack([x[0, : last + 1].mean(dim=0) for last in range(4)]).unsqueeze(0)
    assert_close(build(ZERO, heads=2).to(device)(x.to(device)), expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("attention_rotary")
@pytest.mark.parametrize(("feature", "theta"), [(0, 1.0), (1, 0.25)], ids=["first-pair", "second-pair"])
def test_a_score_falls_with_the_cosine_of_the_distance(feature, theta, device):
    """The query (2, 0) meets keys (1, 0): at a distance of n the score is 2 cos(n theta) / sqrt(4).

    query (2, 0) 与 key (1, 0) 相遇：相距 n 个位置时，分数是 2 cos(n theta) / sqrt(4)。
    """
    x = torch.zeros(1, 3, 8)
    x[..., feature] = 1
    x[0, :, 7] = torch.tensor([16.0, 4.0, 1.0])  # read from the other head, which mixes nothing into it
    value = torch.zeros(8, 8)
    value[3, 7] = 1
    layer = build(2 * only(feature), only(feature), value, heads=2, base=16.0).to(device)
    shares = torch.tensor([math.cos(2 * theta), math.cos(theta), 1.0]).softmax(dim=0)
    expected = (shares * x[0, :, 7]).sum()
    assert_close(layer(x.to(device))[0, 2, 3], expected, forward_limit(expected, torch.float32))
