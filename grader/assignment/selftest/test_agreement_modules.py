"""Norm, embedding and ALiBi beside those of torch and transformers."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from ref.modeling import GroupRMSNorm, ParallelVocabEmbedding, VocabEmbedding
from ref.position import alibi_bias, alibi_slopes

pytestmark = pytest.mark.slow

Import = Callable[[str], ModuleType]

HEADS = [1, 6, 8, 12, 16]


def gradients(output: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """Of the sum of ``output`` times fixed small integers."""
    upstream = torch.randint(-3, 4, output.shape, generator=torch.Generator().manual_seed(1)).to(output.dtype)
    return torch.autograd.grad(output, inputs, upstream)


@pytest.mark.parametrize("eps", [1e-5, 0.75])
def test_a_single_group_is_the_rms_norm_of_torch(eps: float) -> None:
    ours = GroupRMSNorm(hidden_size=24, group_size=24, eps=eps)
    theirs = nn.RMSNorm(24, eps=eps)
    theirs.weight.data.copy_(ours.gamma)
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(0)).requires_grad_()
    torch.testing.assert_close(ours(x), theirs(x))
    for mine, other in zip(gradients(ours(x), x, ours.gamma), gradients(theirs(x), x, theirs.weight), strict=True):
        torch.testing.assert_close(mine, other)


def test_groups_are_the_rms_norm_of_torch_on_each(transformers: Import) -> None:
    """And a single group in bfloat16 is Llama's norm, which squares in float32 too."""
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(0))
    ours = GroupRMSNorm(hidden_size=24, group_size=4)
    expected = nn.functional.rms_norm(x.unflatten(-1, (6, 4)), (4,), eps=1e-5).flatten(-2) * ours.gamma
    torch.testing.assert_close(ours(x), expected)

    llama = transformers("models.llama.modeling_llama").LlamaRMSNorm(24, eps=1e-5)
    ones = GroupRMSNorm(hidden_size=24, group_size=24, init_range=(1.0, 1.0))
    assert torch.equal(ones(x.bfloat16()), llama(x.bfloat16()).bfloat16())


def test_embedding_is_that_of_torch() -> None:
    ours = VocabEmbedding(vocab_size=16, emb_size=4)
    ids = torch.tensor([[0, 3, 3, 15], [7, 0, 0, 1]])
    theirs = nn.functional.embedding(ids, ours.table)
    assert torch.equal(ours(ids), theirs)
    assert torch.equal(gradients(ours(ids), ours.table)[0], gradients(theirs, ours.table)[0])


def test_one_rank_alone_is_the_embedding_of_torch() -> None:
    ours = ParallelVocabEmbedding(vocab_size=16, emb_size=4)
    ids = torch.arange(16).unsqueeze(0)
    assert torch.equal(ours(ids), nn.functional.embedding(ids, ours.shard))


@pytest.mark.parametrize("heads", HEADS)
def test_slopes_are_those_of_bloom(transformers: Import, heads: int) -> None:
    """BLOOM multiplies powers of a rounded base, hence the tolerance of float32 on 16 factors."""
    theirs = transformers("models.bloom.modeling_bloom")._get_alibi_slopes(heads, torch.device("cpu"))
    torch.testing.assert_close(alibi_slopes(heads), theirs, rtol=1e-6, atol=0)


@pytest.mark.parametrize("heads", HEADS)
def test_bias_is_that_of_mpt_up_to_a_constant_for_each_query(transformers: Import, heads: int) -> None:
    """MPT counts every distance from the last query; softmax does not see the difference."""
    length = 32
    positions = torch.arange(length)
    theirs = transformers("models.mpt.modeling_mpt").build_mpt_alibi_tensor(heads, length)  # [heads, 1, length]
    ours = alibi_bias(alibi_slopes(heads), positions, positions)
    torch.testing.assert_close(ours[:, -1:], theirs)
    logits = torch.randn(heads, length, length, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close((logits + ours).softmax(-1), (logits + theirs).softmax(-1))
