"""Task 1: laws of attention."""

import pytest
import torch

from src.attention import CausalSelfAttention
from tests.harness.compare import assert_equal


@pytest.mark.rubric("attention_causal")
def test_a_later_token_changes_nothing_before_it():
    """Change a later token of the input: no earlier token of the output may change.

    改变输入中靠后的 token：输出中靠前的 token 都不应改变。
    """
    layer, x = CausalSelfAttention(hidden_size=8, heads=2), torch.arange(1.0, 33.0).view(1, 4, 8).sin()
    changed = x.clone()
    changed[0, 3] *= 2
    assert_equal(layer(changed)[0, :3], layer(x)[0, :3])
