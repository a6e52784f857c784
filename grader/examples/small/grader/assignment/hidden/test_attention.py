"""Task 1. Each property has inputs on which mistakes in the others do not show, so that a mistake is charged once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.testing import Student, StudentModule, check_close, check_shape, normal, say

from .. import oracle

# In ulp. Rounding in scores of up to ten becomes as much of the shares; mistakes cost some 100,000.
LIMIT = 256.0
SLOW = 1e30  # a base with which all pairs but the first stand still


def weights(seed: int, hidden: int, size: float = 1.0) -> dict[str, Tensor]:
    """Random weights by name; of size 1, they keep the size of their input."""
    names = ("query", "key", "value", "output")
    return {name: size * normal(seed, name, shape=(hidden, hidden)) / hidden**0.5 for name in names}


def construct(student: Student, matrices: dict[str, Tensor], heads: int, base: float, device: str) -> StudentModule:
    """The student's module with those weights; a base that is the default is left out."""
    options = {} if base == 10000 else {"base": base}
    module = student.CausalSelfAttention(hidden_size=len(matrices["query"]), heads=heads, **options)
    return module.to(device).assign_named(**matrices)


def still(query: Tensor, heads: int) -> Tensor:
    """Weights that give queries of zero in the features that turn, whether halves or neighbours make pairs."""
    features: Tensor = query.clone().unflatten(0, (heads, -1))  # [nh, hd, h]
    features[:, [0, 1, features.shape[1] // 2]] = 0
    return features.flatten(0, 1)


@pytest.mark.rubric("attention_heads")
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_the_last_token_gathers_in_every_head(student: Student, seed: int, heads: int, device: str) -> None:
    """It sees all tokens, so that no mask matters."""
    hidden = 8 * heads  # in larger heads, more pairs would turn visibly
    x = normal(seed, "x", shape=(2, 5, hidden))
    matrices = weights(seed, hidden, size=4)
    matrices["query"] = still(matrices["query"], heads)
    output = construct(student, matrices, heads, SLOW, device)(x.to(device))
    check_shape(output, x.shape)
    expected, scale = oracle.attention(x, matrices, heads, SLOW)
    check_close(
        output[:, -1],
        expected[:, -1],
        scale[:, -1],
        torch.float32,
        LIMIT,
        say("last token with heads={heads}", heads=heads),
    )


@pytest.mark.rubric("attention_causal")
@pytest.mark.parametrize("seq", [1, 2, 9])
def test_queries_of_zeros_give_the_mean_so_far(student: Student, seed: int, seq: int, device: str) -> None:
    """All scores are alike then, whatever heads, scale and angles are."""
    x = normal(seed, "x", shape=(3, seq, 16))
    matrices = weights(seed, 16) | {"query": torch.zeros(16, 16)}
    output = construct(student, matrices, 2, 10000, device)(x.to(device))
    expected, scale = oracle.attention(x, matrices, 2)
    check_close(
        output, expected, scale, torch.float32, LIMIT, say("output for {seq} tokens with queries of zeros", seq=seq)
    )


@pytest.mark.rubric("attention_rotary")
@pytest.mark.parametrize("base", [10000, 100, 500000])
def test_angles_grow_with_the_distance(student: Student, seed: int, base: float, device: str) -> None:
    """The last token again, now with all features: only how it turns against the others makes the difference."""
    x = normal(seed, "x", shape=(2, 12, 16))
    matrices = weights(seed, 16)
    output = construct(student, matrices, 2, base, device)(x.to(device))
    check_shape(output, x.shape)
    expected, scale = oracle.attention(x, matrices, 2, base)
    check_close(
        output[:, -1],
        expected[:, -1],
        scale[:, -1],
        torch.float32,
        LIMIT,
        say("last token with base={base}", base=base),
    )
