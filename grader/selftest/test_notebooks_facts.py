"""What the notebooks say of transformers, asked of transformers itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import pytest
import torch

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

from grader.tools.notebooks import sources

pytestmark = pytest.mark.slow  # it imports transformers

Module = Callable[[str], ModuleType]
READING = sources.SOURCES / "5_longer_contexts.py"
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 16.0, "original_max_position_embeddings": 4096}
LLAMA = "models.llama.modeling_llama"
SCALING = "modeling_rope_utils"


def attention_factor(transformers: Module, **settings: float) -> float:
    """By how much cosines and sines are multiplied with these settings."""
    config = transformers(LLAMA).LlamaConfig(max_position_embeddings=65536, rope_parameters=YARN | settings)
    return float(transformers(SCALING).ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))[1])


def test_the_types_of_scaling_are_those_that_are_named(transformers: Module) -> None:
    text = READING.read_text(encoding="utf-8")
    kinds = transformers(SCALING).ROPE_INIT_FUNCTIONS
    assert transformers("utils").__version__.startswith("5.23.")
    assert {*kinds} == {"linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}
    assert all(text.count(f"`{name}`") >= 2 for name in kinds)  # once in each language


def test_settings_stand_in_rope_parameters(transformers: Module) -> None:
    assert transformers(LLAMA).LlamaConfig().rope_parameters == {"rope_theta": 10000.0, "rope_type": "default"}


def test_an_attention_factor_of_one_switches_the_temperature_off(transformers: Module) -> None:
    assert math.isclose(attention_factor(transformers), 0.1 * math.log(16) + 1)
    assert attention_factor(transformers, attention_factor=1.0) == 1


def test_frequencies_are_in_no_checkpoint(transformers: Module) -> None:
    llama = transformers(LLAMA)
    module = llama.LlamaRotaryEmbedding(llama.LlamaConfig())
    assert module.state_dict() == {}
    assert "inv_freq" in dict(module.named_buffers())


def test_falcon_rotates(transformers: Module) -> None:
    assert transformers("models.falcon").FalconConfig().alibi is False


def test_glm_rotates_half_of_each_head_in_adjacent_pairs(transformers: Module) -> None:
    assert transformers("models.glm").GlmConfig().rope_parameters["partial_rotary_factor"] == 0.5
    assert transformers("models.glm.modeling_glm").rotate_half(torch.tensor([1, 2, 3, 4])).tolist() == [-2, 1, -4, 3]


def test_every_fourth_layer_of_llama_4_has_no_positions(transformers: Module) -> None:
    config = transformers("models.llama4").Llama4TextConfig(num_hidden_layers=8)
    assert config.no_rope_layers == [1, 1, 1, 0, 1, 1, 1, 0]
    assert config.attn_temperature_tuning
