"""Layers beside those of torch and transformers: norm, embedding, ALiBi, latent attention, axes of pairs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from grader.assignment.selftest.agreement import tables_agree
from ref.modeling import GroupRMSNorm, ParallelVocabEmbedding, VocabEmbedding
from ref.position import (
    LatentAttention,
    alibi_bias,
    alibi_slopes,
    axis_of_pairs,
    half_split_tables,
    inverse_frequencies,
    multi_axis_angles,
    no_scaling,
    rotary_angles,
)

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


def test_latent_attention_is_that_of_deepseek_v3(transformers: Import) -> None:
    """With the same weights; theirs makes keys and values of full size, ours takes queries to the latent space."""
    torch.manual_seed(0)
    ours = LatentAttention(32, 4, content_dim=6, rotary_dim=8, latent_dim=10, frequencies=no_scaling(8))
    config = transformers("models.deepseek_v3").DeepseekV3Config(
        hidden_size=32,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=None,
        kv_lora_rank=10,
        qk_nope_head_dim=6,
        qk_rope_head_dim=8,
        v_head_dim=6,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attn_implementation="eager",
    )
    theirs = transformers("models.deepseek_v3.modeling_deepseek_v3").DeepseekV3Attention(config, 0)
    weights = {"q_proj": ours.query, "kv_a_proj_with_mqa": ours.down, "kv_a_layernorm": ours.norm}
    weights |= {"kv_b_proj": ours.up, "o_proj": ours.output}
    theirs.load_state_dict({f"{name}.weight": module.weight for name, module in weights.items()})
    x, positions = torch.randn(2, 12, 32), torch.arange(12)
    angles = rotary_angles(positions, inverse_frequencies(8))
    cos, sin = (table.unsqueeze(0) for table in half_split_tables(angles))
    mask = torch.full((12, 12), float("-inf")).triu(1)[None, None]
    expected, _ = theirs(x, position_embeddings=(cos, sin), attention_mask=mask)
    torch.testing.assert_close(ours(x), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "name", "interleaved"),
    [("qwen2_vl", "Qwen2VL", False), ("qwen3_vl", "Qwen3VLText", True)],
)
def test_axes_of_pairs_are_those_of_qwen(transformers: Import, model: str, name: str, interleaved: bool) -> None:
    sections = [8, 4, 4]  # so that pairs are left over where axes take turns
    config = getattr(transformers(f"models.{model}"), f"{name.removesuffix('Text')}TextConfig")(
        hidden_size=64,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": sections},
    )
    rotary = getattr(transformers(f"models.{model}.modeling_{model}"), f"{name}RotaryEmbedding")(config)
    positions = torch.randint(0, 50, (3, 20), generator=torch.Generator().manual_seed(0))
    axes = axis_of_pairs(sections, interleaved=interleaved)
    angles = multi_axis_angles(positions, inverse_frequencies(32), axes)
    theirs = rotary(torch.zeros(1), positions.unsqueeze(1))
    for mine, other in zip(half_split_tables(angles), theirs, strict=True):
        assert tables_agree(mine, other[0], angles)


def test_the_temperature_is_that_of_llama_4(transformers: Import) -> None:
    """Its layer without positions, with a factor for each query, is one without factors whose queries were scaled."""
    config = transformers("models.llama4").Llama4TextConfig(
        hidden_size=16,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=16,
        num_hidden_layers=4,
        floor_scale=3,
        attn_implementation="eager",
    )
    attention = transformers("models.llama4.modeling_llama4").Llama4TextAttention(config, 3)
    x = torch.randn(1, 12, 16, generator=torch.Generator().manual_seed(0))
    mask = torch.full((12, 12), float("-inf")).triu(1)[None, None]
    _, theirs = attention(x, torch.zeros(1), mask)
    factors = 1 + 0.1 * torch.log(1 + torch.floor((torch.arange(12) + 1) / 3))  # f(p) of notebook 8, with F = 3
    scaled = attention.q_proj(x) * factors[:, None]
    logits = scaled @ attention.k_proj(x).mT / 4 + mask[0]
    torch.testing.assert_close(logits.softmax(-1), theirs[0])
