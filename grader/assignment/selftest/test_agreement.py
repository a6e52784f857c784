"""What ``ref`` computes beside torch and transformers: encodings, scalings, norms, and checkpoints in two layouts.

In one file, so that one process imports transformers, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from ref.modeling import GroupRMSNorm, NTKAwareRoPE
from ref.position.absolute import sinusoidal_encoding
from ref.position.alibi import alibi_bias, alibi_slopes
from ref.position.angles import inverse_frequencies, rotary_angles
from ref.position.permutation import to_adjacent, to_half_split
from ref.position.rope import half_split_tables, rotate_adjacent, rotate_half_split
from ref.position.scaling import (
    Scaled,
    dynamic_scaling,
    linear_scaling,
    longrope_scaling,
    no_scaling,
    ntk_scaling,
    proportional_scaling,
)
from ref.position.yarn import llama3_scaling, yarn_scaling

pytestmark = pytest.mark.slow

Import = Callable[[str], ModuleType]

FREQUENCY_RTOL = 8 * 2.0**-23  # float32 powers, products and quotients in another order: some ulp


def tables_agree(ours: Tensor, theirs: Tensor, angles: Tensor) -> bool:
    """Whether cosines or sines, ``[seq, head_dim]``, are the same up to the rounding of their angles in radians.

    An angle of size ``a`` is off by some ``2**-24 * a``, and its cosine by as much. The limit is the grader's own.
    """
    limit = 32 * 2.0**-24 * (1 + angles.abs())
    return bool(((ours - theirs).abs() <= torch.cat((limit, limit), dim=-1)).all())


# ── Rotations, tables, frequencies, and how they follow the length ────────────────────────────────────────────────────

HEAD_DIM, TRAINED = 64, 512
SHORT, LONG = [1.0 + 0.05 * i for i in range(32)], [1.0 + 0.5 * i for i in range(32)]
yarn = partial(yarn_scaling, HEAD_DIM, original_length=TRAINED, ramp="pairs")
TRAINED_ON = {"original_max_position_embeddings": TRAINED}
SCALINGS: dict[str, tuple[Scaled, dict[str, Any]]] = {  # case -> ours, theirs
    "default": (no_scaling(HEAD_DIM, 500000.0), {"rope_theta": 500000.0}),
    "linear": (linear_scaling(HEAD_DIM, factor=4.0), {"factor": 4.0}),
    "dynamic": (dynamic_scaling(HEAD_DIM, length=TRAINED, original_length=TRAINED, factor=4.0), {"factor": 4.0}),
    "yarn": (yarn(factor=16.0), {**TRAINED_ON, "factor": 16.0}),
    "yarn_ends": (
        yarn(factor=4.0, alpha=2.0, beta=8.0, attention_factor=1.5),
        {**TRAINED_ON, "factor": 4.0, "beta_slow": 2.0, "beta_fast": 8.0, "attention_factor": 1.5},
    ),
    "yarn_that_never_turns_less_than_once": (yarn(50.0, factor=4.0), {**TRAINED_ON, "factor": 4.0, "rope_theta": 50.0}),
    "llama3": (
        llama3_scaling(HEAD_DIM, 500000.0, factor=8.0, original_length=TRAINED),
        {**TRAINED_ON, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 500000.0},
    ),
    "longrope": (
        longrope_scaling(
            HEAD_DIM, factor=4.0, original_length=TRAINED, short_factors=SHORT, long_factors=LONG, length=TRAINED
        ),
        {**TRAINED_ON, "factor": 4.0, "short_factor": SHORT, "long_factor": LONG},
    ),
    "proportional": (
        proportional_scaling(HEAD_DIM, share=0.25, factor=2.0),
        {"factor": 2.0, "partial_rotary_factor": 0.25},
    ),
}


def llama_config(transformers: Import, rope_type: str, **rope_parameters: Any) -> Any:
    """A configuration with four heads of ``HEAD_DIM`` features, trained on ``TRAINED`` positions."""
    rope = {"rope_theta": 10000.0, "rope_type": rope_type, **rope_parameters}
    return transformers("models.llama.configuration_llama").LlamaConfig(
        hidden_size=4 * HEAD_DIM, num_attention_heads=4, max_position_embeddings=TRAINED, rope_parameters=rope
    )


def rotary_module(transformers: Import, rope_type: str, **rope_parameters: Any) -> Any:
    config = llama_config(transformers, rope_type, **rope_parameters)
    return transformers("models.llama.modeling_llama").LlamaRotaryEmbedding(config)


def tables(rotary: Any, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a rotary module gives for the positions up to ``length``, ``[length, head_dim]`` each."""
    cos, sin = rotary(torch.zeros(1), torch.arange(length).unsqueeze(0))
    return cos[0], sin[0]


def assert_same(ours: Scaled, inverse_frequencies: torch.Tensor, attention_factor: float) -> None:
    torch.testing.assert_close(ours.inverse_frequencies, inverse_frequencies, rtol=FREQUENCY_RTOL, atol=0)
    assert ours.attention_factor == pytest.approx(attention_factor, rel=1e-15)


def test_every_type_of_scaling_there_has_a_twin_here(transformers: Import) -> None:
    assert set(transformers("modeling_rope_utils").ROPE_INIT_FUNCTIONS) <= SCALINGS.keys()


@pytest.mark.parametrize("case", SCALINGS)
def test_frequencies_attention_factor_and_tables_are_those_of_transformers(transformers: Import, case: str) -> None:
    ours, parameters = SCALINGS[case]
    rotary = rotary_module(transformers, case.partition("_")[0], **parameters)
    assert_same(ours, rotary.inv_freq, rotary.attention_scaling)
    angles = rotary_angles(torch.arange(TRAINED), ours.inverse_frequencies)
    for mine, other in zip(half_split_tables(angles, ours.attention_factor), tables(rotary, TRAINED), strict=True):
        assert tables_agree(mine, other, angles)


def test_dynamic_frequencies_follow_the_longest_sequence_until_a_short_one(transformers: Import) -> None:
    """Their module remembers: it grows, stays grown for middle lengths, and starts again below the trained length."""
    rotary = rotary_module(transformers, "dynamic", factor=4.0)
    longest = TRAINED
    for length in (TRAINED // 2, 3 * TRAINED, 2 * TRAINED, 5 * TRAINED + 1, TRAINED, TRAINED - 1, 2 * TRAINED):
        longest = TRAINED if length < TRAINED else max(longest, length)
        ours = dynamic_scaling(HEAD_DIM, length=longest, original_length=TRAINED, factor=4.0)
        angles = rotary_angles(torch.arange(length), ours.inverse_frequencies)
        theirs = tables(rotary, length)
        assert_same(ours, rotary.inv_freq, rotary.attention_scaling)
        assert tables_agree(half_split_tables(angles)[0], theirs[0], angles)


def test_longrope_changes_its_factors_beyond_the_trained_length_and_back(transformers: Import) -> None:
    rotary = rotary_module(transformers, "longrope", **SCALINGS["longrope"][1])
    for length in (TRAINED, TRAINED + 1, TRAINED):
        tables(rotary, length)
        ours = longrope_scaling(
            HEAD_DIM, factor=4.0, original_length=TRAINED, short_factors=SHORT, long_factors=LONG, length=length
        )
        assert_same(ours, rotary.inv_freq, rotary.attention_scaling)


@pytest.mark.parametrize("ratio", [1, 2, 3, 8])
def test_task_4_is_a_llama_whose_base_was_patched_in_one_line(transformers: Import, ratio: int) -> None:
    patched_base = 10000.0 * ratio ** (HEAD_DIM / (HEAD_DIM - 2))  # the one line
    rotary = rotary_module(transformers, "default", rope_theta=patched_base)
    task4 = NTKAwareRoPE(dim=HEAD_DIM, max_seq_len=TRAINED, ratio=ratio)
    scaled = ntk_scaling(HEAD_DIM, factor=ratio)
    assert_same(scaled, rotary.inv_freq, rotary.attention_scaling)
    angles = rotary_angles(torch.arange(ratio * TRAINED), scaled.inverse_frequencies)
    theirs = tables(rotary, ratio * TRAINED)
    assert tables_agree(task4.cos, theirs[0], angles)
    assert tables_agree(task4.sin, theirs[1], angles)


def test_adjacent_rotation_is_that_of_gpt_j_and_cohere(transformers: Import) -> None:
    x = torch.randn(3, 20, 4, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    angles = rotary_angles(torch.arange(20), inverse_frequencies(HEAD_DIM))
    ours = rotate_adjacent(x, angles)
    cos, sin = angles.cos()[None], angles.sin()[None]
    assert torch.equal(ours, transformers("models.gptj.modeling_gptj").apply_rotary_pos_emb(x, sin, cos))
    cos, sin = (table.repeat_interleave(2, dim=-1) for table in (cos, sin))
    cohere = transformers("models.cohere.modeling_cohere")
    assert torch.equal(ours, cohere.apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=2)[0])


def test_half_split_rotation_is_that_of_llama(transformers: Import) -> None:
    x = torch.randn(3, 20, 4, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    angles = rotary_angles(torch.arange(20), inverse_frequencies(HEAD_DIM))
    cos, sin = (table[None] for table in half_split_tables(angles))
    llama = transformers("models.llama.modeling_llama")
    assert torch.equal(rotate_half_split(x, angles), llama.apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=2)[0])


def test_sinusoids_are_those_of_gpt_j_up_to_the_order_of_features(transformers: Import) -> None:
    theirs = transformers("models.gptj.modeling_gptj").create_sinusoidal_positions(TRAINED, HEAD_DIM)
    ours = sinusoidal_encoding(torch.arange(TRAINED), HEAD_DIM)
    angles = rotary_angles(torch.arange(TRAINED), inverse_frequencies(HEAD_DIM))
    assert tables_agree(torch.cat((ours[:, 0::2], ours[:, 1::2]), dim=-1), theirs, angles)


# ── Norm and bias ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_single_group_in_16_bits_is_the_norm_of_llama(transformers: Import) -> None:
    """Which squares in float32, too."""
    x = torch.randn(2, 5, 24, generator=torch.Generator().manual_seed(0)).bfloat16()
    llama = transformers("models.llama.modeling_llama").LlamaRMSNorm(24, eps=1e-5)
    ones = GroupRMSNorm(hidden_size=24, group_size=24, init_range=(1.0, 1.0))
    assert torch.equal(ones(x), llama(x).bfloat16())


@pytest.mark.parametrize("heads", [1, 6, 8, 12, 16])
def test_slopes_and_bias_are_those_of_mpt_up_to_a_constant_for_each_query(transformers: Import, heads: int) -> None:
    """MPT counts every distance from the last query; softmax does not see the difference."""
    length = 32
    positions = torch.arange(length)
    theirs = transformers("models.mpt.modeling_mpt").build_mpt_alibi_tensor(heads, length)  # [heads, 1, length]
    ours = alibi_bias(alibi_slopes(heads), positions, positions)
    torch.testing.assert_close(ours[:, -1:], theirs)
    logits = torch.randn(heads, length, length, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close((logits + ours).softmax(-1), (logits + theirs).softmax(-1))


# ── One checkpoint, two layouts ───────────────────────────────────────────────────────────────────────────────────────

HEADS, HEAD_SIZE = 4, 8


@pytest.mark.parametrize("shape", [(HEADS * HEAD_SIZE, 6), (HEADS * HEAD_SIZE,)], ids=["weight", "bias"])
@pytest.mark.parametrize("inverse", [False, True], ids=["to_half_split", "to_adjacent"])
def test_the_permutation_is_that_of_transformers(transformers: Import, shape: tuple[int, ...], inverse: bool) -> None:
    parameter = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    convert = transformers("core_model_loading").PermuteForRope(inverse=inverse).convert
    config = SimpleNamespace(num_attention_heads=HEADS)
    theirs = convert({"q_proj": parameter}, ["q_proj"], ["q_proj"], config=config)["q_proj"]
    assert torch.equal((to_adjacent if inverse else to_half_split)(parameter, HEADS), theirs)
