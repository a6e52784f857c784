"""One checkpoint, two layouts: models of transformers compute the same before and after their weights are permuted."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment.selftest.agreement import LOGIT_ATOL
from ref.position import (
    CausalSelfAttention,
    NoPE,
    Rotary,
    no_scaling,
    rotate_adjacent,
    to_adjacent,
    to_half_split,
)

pytestmark = pytest.mark.slow

Import = Callable[[str], ModuleType]

HEADS, KV_HEADS, HEAD_DIM = 4, 2, 8
SIZES = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "head_dim": HEAD_DIM}
CHECKPOINTS = {  # case -> configuration: grouped queries all, then biases, then weights of query and key norms
    "llama": ("Llama", {}),
    "llama_with_biases": ("Llama", {"attention_bias": True}),
    "qwen3": ("Qwen3", {}),
}
checkpoints = pytest.mark.parametrize("case", CHECKPOINTS)


@pytest.fixture(autouse=True)
def no_gradients() -> Any:
    """All models here only read."""
    with torch.no_grad():
        yield


def random_model(transformers: Import, case: str) -> Any:
    """A tiny model whose every parameter is random, biases and norms too, which would start as zeros and ones."""
    family, more = CHECKPOINTS[case]
    module = transformers(f"models.{family.lower()}.modeling_{family.lower()}")
    config = getattr(transformers(f"models.{family.lower()}.configuration_{family.lower()}"), f"{family}Config")(
        **SIZES, **more, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS
    )
    model = getattr(module, f"{family}ForCausalLM")(config).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return model


def logits(model: Any) -> Tensor:
    """On one fixed sequence, ``[1, 24, vocabulary]``."""
    ids = torch.randint(SIZES["vocab_size"], (1, 24), generator=torch.Generator().manual_seed(1))
    found: Tensor = model(ids).logits
    return found


def pair_adjacent(transformers: Import, case: str, patch: pytest.MonkeyPatch) -> None:
    """Make the model rotate adjacent pairs, as Meta's code does, by the angles that it has."""

    def apply(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, ...]:
        angles = torch.atan2(sin, cos)[0, :, : HEAD_DIM // 2]
        return tuple(rotate_adjacent(x.transpose(1, 2), angles).transpose(1, 2) for x in (q, k))

    family = CHECKPOINTS[case][0].lower()
    patch.setattr(transformers(f"models.{family}.modeling_{family}"), "apply_rotary_pos_emb", apply)


def permute(model: Any) -> None:
    """Convert query and key projections, their biases and their norms, to half-split pairs."""
    for layer in model.model.layers:
        attention = layer.self_attn
        for projection, heads in ((attention.q_proj, HEADS), (attention.k_proj, KV_HEADS)):
            for parameter in projection.parameters():
                parameter.copy_(to_half_split(parameter, heads))
        for name in ("q_norm", "k_norm"):
            if hasattr(attention, name):
                norm = getattr(attention, name)
                norm.weight.copy_(to_half_split(norm.weight, 1))


@checkpoints
def test_logits_stay_when_weights_are_permuted_with_the_layout(
    transformers: Import, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adjacent pairs with the weights as drawn; then half-split ones, unmodified, with permuted weights."""
    model = random_model(transformers, case)
    with monkeypatch.context() as patch:
        pair_adjacent(transformers, case, patch)
        before = logits(model)
    mixed = logits(model)
    permute(model)
    torch.testing.assert_close(logits(model), before, rtol=0, atol=LOGIT_ATOL * float(before.abs().max()))
    assert (mixed - before).abs().max() > 0.01 * before.abs().max()  # or the permutation would have nothing to mend


@pytest.mark.parametrize("shape", [(HEADS * HEAD_DIM, 6), (HEADS * HEAD_DIM,)], ids=["weight", "bias"])
@pytest.mark.parametrize("inverse", [False, True], ids=["to_half_split", "to_adjacent"])
def test_the_permutation_is_that_of_transformers(transformers: Import, shape: tuple[int, ...], inverse: bool) -> None:
    parameter = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    convert = transformers("core_model_loading").PermuteForRope(inverse=inverse).convert
    config = SimpleNamespace(num_attention_heads=HEADS)
    theirs = convert({"q_proj": parameter}, ["q_proj"], ["q_proj"], config=config)["q_proj"]
    assert torch.equal((to_adjacent if inverse else to_half_split)(parameter, HEADS), theirs)


def test_keys_of_grouped_queries_are_permuted_as_in_gguf_files(transformers: Import) -> None:
    """Files of llama.cpp hold adjacent pairs."""
    keys = torch.randn(KV_HEADS * HEAD_DIM, 6, generator=torch.Generator().manual_seed(0))
    gguf = transformers("modeling_gguf_pytorch_utils").LlamaTensorProcessor
    processor = gguf(config={"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS})
    theirs = processor.process(keys.numpy(), name="blk.0.attn_k.weight").weights
    assert torch.equal(to_half_split(keys, KV_HEADS), torch.from_numpy(theirs))


@pytest.mark.parametrize("encoding", ["rotary", "nope"])
def test_our_attention_is_llamas(transformers: Import, encoding: str) -> None:
    """With its weights; NoPE is a Llama whose tables turn nothing."""
    model = random_model(transformers, "llama")
    theirs = model.model.layers[0].self_attn
    position = Rotary(no_scaling(HEAD_DIM)) if encoding == "rotary" else NoPE()
    ours = CausalSelfAttention(SIZES["hidden_size"], HEADS, position, num_kv_heads=KV_HEADS)
    for name in ("query", "key", "value", "output"):
        getattr(ours, name).weight.copy_(getattr(theirs, f"{name[0]}_proj").weight)
    x = torch.randn(2, 24, SIZES["hidden_size"], generator=torch.Generator().manual_seed(0))
    cos, sin = model.model.rotary_emb(x, torch.arange(24).unsqueeze(0))
    if encoding == "nope":
        cos, sin = torch.ones_like(cos), torch.zeros_like(sin)
    hidden = torch.full((24, 24), float("-inf")).triu(1)[None, None]
    expected, _ = theirs(x, position_embeddings=(cos, sin), attention_mask=hidden)
    torch.testing.assert_close(ours(x), expected, rtol=0, atol=LOGIT_ATOL * float(expected.abs().max()))
