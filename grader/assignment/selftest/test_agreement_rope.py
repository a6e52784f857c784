"""The rotary family beside transformers: rotations, tables, frequencies, and how they follow the length."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.assignment.selftest.agreement import FREQUENCY_RTOL, tables_agree
from ref.functional import apply_rotary_pos_emb
from ref.modeling import NTKAwareRoPE
from ref.position import (
    Scaled,
    dynamic_scaling,
    half_split_tables,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    no_scaling,
    ntk_scaling,
    proportional_scaling,
    rotary_angles,
    rotary_phasors,
    rotate_adjacent,
    rotate_complex,
    sinusoidal_encoding,
    yarn_attention_factor,
    yarn_ramp_over_pairs,
    yarn_scaling,
)

pytestmark = pytest.mark.slow

Import = Callable[[str], ModuleType]

HEAD_DIM, TRAINED = 64, 512
SHORT, LONG = [1.0 + 0.05 * i for i in range(32)], [1.0 + 0.5 * i for i in range(32)]
TRAINED_ON = {"original_max_position_embeddings": TRAINED}
SCALINGS: dict[str, tuple[Scaled, dict[str, Any]]] = {  # case -> ours, theirs
    "default": (no_scaling(HEAD_DIM, 500000.0), {"rope_theta": 500000.0}),
    "linear": (linear_scaling(HEAD_DIM, factor=4.0), {"factor": 4.0}),
    "dynamic": (dynamic_scaling(HEAD_DIM, length=TRAINED, original_length=TRAINED, factor=4.0), {"factor": 4.0}),
    "yarn": (
        yarn_scaling(HEAD_DIM, factor=16.0, original_length=TRAINED, ramp="pairs"),
        {**TRAINED_ON, "factor": 16.0},
    ),
    "yarn_ends": (
        yarn_scaling(
            HEAD_DIM, factor=4.0, original_length=TRAINED, ramp="pairs", alpha=2.0, beta=8.0, attention_factor=1.5
        ),
        {**TRAINED_ON, "factor": 4.0, "beta_slow": 2.0, "beta_fast": 8.0, "attention_factor": 1.5},
    ),
    "yarn_that_never_turns_less_than_once": (
        yarn_scaling(HEAD_DIM, 50.0, factor=4.0, original_length=TRAINED, ramp="pairs"),
        {**TRAINED_ON, "factor": 4.0, "rope_theta": 50.0},
    ),
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
    """A Llama's rotary embedding."""
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
def test_frequencies_and_attention_factor_are_those_of_transformers(transformers: Import, case: str) -> None:
    ours, parameters = SCALINGS[case]
    rotary = rotary_module(transformers, case.partition("_")[0], **parameters)
    assert_same(ours, rotary.inv_freq, rotary.attention_scaling)


@pytest.mark.parametrize("case", SCALINGS)
def test_tables_are_those_of_transformers(transformers: Import, case: str) -> None:
    ours, parameters = SCALINGS[case]
    angles = rotary_angles(torch.arange(TRAINED), ours.inverse_frequencies)
    theirs = tables(rotary_module(transformers, case.partition("_")[0], **parameters), TRAINED)
    for mine, other in zip(half_split_tables(angles, ours.attention_factor), theirs, strict=True):
        assert tables_agree(mine, other, angles)


def test_the_ramp_over_pairs_need_not_be_rounded(transformers: Import) -> None:
    gamma = yarn_ramp_over_pairs(HEAD_DIM, original_length=TRAINED, rounded=False)
    theta = inverse_frequencies(HEAD_DIM)
    ours = Scaled((1 - gamma) * theta / 4 + gamma * theta, yarn_attention_factor(4.0))
    rotary = rotary_module(transformers, "yarn", **TRAINED_ON, factor=4.0, truncate=False)
    assert_same(ours, rotary.inv_freq, rotary.attention_scaling)


def test_the_ramps_of_paper_and_code_differ() -> None:
    """Or the tests of one would pass with the other."""
    paper, code = (
        yarn_scaling(HEAD_DIM, factor=16.0, original_length=TRAINED, ramp=ramp) for ramp in ("turns", "pairs")
    )
    assert (paper.inverse_frequencies / code.inverse_frequencies).log().abs().max() > 0.5


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_half_split_rotation_is_llamas(transformers: Import, dtype: torch.dtype) -> None:
    queries, keys = torch.randn(2, 3, 20, 4, HEAD_DIM, generator=torch.Generator().manual_seed(0)).to(dtype)
    cos, sin = (table.to(dtype) for table in tables(rotary_module(transformers, "default"), 20))
    llama = transformers("models.llama.modeling_llama")
    theirs = llama.apply_rotary_pos_emb(queries, keys, cos[None], sin[None], unsqueeze_dim=2)
    for ours, other in zip((queries, keys), theirs, strict=True):
        assert torch.equal(apply_rotary_pos_emb(ours, cos, sin), other)


def test_adjacent_rotation_is_that_of_gpt_j_and_cohere(transformers: Import) -> None:
    x = torch.randn(3, 20, 4, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    angles = rotary_angles(torch.arange(20), inverse_frequencies(HEAD_DIM))
    ours = rotate_adjacent(x, angles)
    cos, sin = angles.cos()[None], angles.sin()[None]
    assert torch.equal(ours, transformers("models.gptj.modeling_gptj").apply_rotary_pos_emb(x, sin, cos))
    cos, sin = (table.repeat_interleave(2, dim=-1) for table in (cos, sin))
    cohere = transformers("models.cohere.modeling_cohere")
    assert torch.equal(ours, cohere.apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=2)[0])


def test_complex_rotation_is_that_of_llama_4(transformers: Import) -> None:
    x = torch.randn(3, 20, 4, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    angles = rotary_angles(torch.arange(20), inverse_frequencies(HEAD_DIM))
    llama4 = transformers("models.llama4.modeling_llama4")
    assert torch.equal(rotate_complex(x, angles), llama4.apply_rotary_emb(x, x, rotary_phasors(angles)[None])[0])


def test_sinusoids_are_those_of_gpt_j_up_to_the_order_of_features(transformers: Import) -> None:
    theirs = transformers("models.gptj.modeling_gptj").create_sinusoidal_positions(TRAINED, HEAD_DIM)
    ours = sinusoidal_encoding(torch.arange(TRAINED), HEAD_DIM)
    angles = rotary_angles(torch.arange(TRAINED), inverse_frequencies(HEAD_DIM))
    assert tables_agree(torch.cat((ours[:, 0::2], ours[:, 1::2]), dim=-1), theirs, angles)
