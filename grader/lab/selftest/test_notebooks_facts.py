"""What the notebooks say of transformers, asked of transformers itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.lab.site.notebooks import sources

pytestmark = pytest.mark.slow  # it imports transformers

Module = Callable[[str], ModuleType]
CURRENT = sources.SOURCES / "8_models_of_2026.py"
NEEDED = ("import math", "from given import", "def read_frequencies(", "MODELS = {")
READING = sources.SOURCES / "5_longer_contexts.py"
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 16.0, "original_max_position_embeddings": 4096}
DEFAULT = {"rope_type": "default", "rope_theta": 1e4}
IN_CHUNKS = ["chunked_attention"] * 3 + ["full_attention"]
LLAMA = "models.llama.modeling_llama"
SCALING = "modeling_rope_utils"


def attention_factor(transformers: Module, **settings: float) -> float:
    config = transformers(LLAMA).LlamaConfig(max_position_embeddings=65536, rope_parameters=YARN | settings)
    return float(transformers(SCALING).ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"))[1])


def test_the_types_of_scaling_are_those_that_are_named(transformers: Module) -> None:
    text = READING.read_text(encoding="utf-8")
    kinds = transformers(SCALING).ROPE_INIT_FUNCTIONS
    assert transformers("utils").__version__.startswith("5.23.")
    assert {*kinds} == {"linear", "dynamic", "yarn", "longrope", "llama3", "proportional"}
    assert all(text.count(f"`{name}`") >= 2 for name in kinds)  # once in each language


def test_an_attention_factor_of_one_or_two_equal_mscales_switch_the_temperature_off(transformers: Module) -> None:
    assert math.isclose(attention_factor(transformers), 0.1 * math.log(16) + 1)
    assert attention_factor(transformers, attention_factor=1.0) == 1
    assert attention_factor(transformers, mscale=1.0, mscale_all_dim=1.0) == 1


@pytest.mark.parametrize(
    ("config", "stated"),
    [
        ("llama.LlamaConfig", {"rope_parameters": DEFAULT}),
        ("falcon.FalconConfig", {"alibi": False}),
        ("glm.GlmConfig", {"rope_parameters": DEFAULT | {"partial_rotary_factor": 0.5}}),
        ("qwen2_vl.Qwen2VLTextConfig", {"rope_parameters": DEFAULT | {"rope_theta": 1e6}}),
        ("llama4.Llama4TextConfig", {"no_rope_layers": [1, 1, 1, 0] * 12, "layer_types": IN_CHUNKS * 12}),
        ("llama4.Llama4TextConfig", {"attn_temperature_tuning": True, "floor_scale": 8192, "attn_scale": 0.1}),
        ("llama4.Llama4TextConfig", {"attention_chunk_size": 8192}),
        ("deepseek_v3.DeepseekV3Config", {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}),
        ("deepseek_v3.DeepseekV3Config", {"num_attention_heads": 128, "v_head_dim": 128}),
        ("gpt_oss.GptOssConfig", {"sliding_window": 128}),
    ],
)
def test_a_default_configuration_is_as_stated(transformers: Module, config: str, stated: dict[str, object]) -> None:
    package, _, name = config.partition(".")
    own = getattr(transformers(f"models.{package}"), name)()
    assert {field: getattr(own, field) for field in stated} == stated


def test_glm_rotates_adjacent_pairs(transformers: Module) -> None:
    assert transformers("models.glm.modeling_glm").rotate_half(torch.tensor([1, 2, 3, 4])).tolist() == [-2, 1, -4, 3]


@pytest.fixture(name="reading")
def _reading(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What notebook 8 defines to read configurations: the reader's functions, and ``MODELS``."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.syspath_prepend(str(sources.SOURCES))
    names: dict[str, Any] = {}
    for cell in sources.read(CURRENT, "en").cells:
        if cell.cell_type == "code" and any(f"\n{needed}" in f"\n{cell.source}" for needed in NEEDED):
            exec(compile(cell.source, cell.id, "exec"), names)
    return names


def test_the_readers_code_reads_real_configurations_as_transformers_does(
    transformers: Module, reading: dict[str, Any]
) -> None:
    assert len(reading["MODELS"]) == 7
    for name, (dim, _, _, rope) in reading["MODELS"].items():
        config = transformers(LLAMA).LlamaConfig(
            head_dim=dim, max_position_embeddings=10**6, rope_parameters=dict(rope)
        )
        theirs, factor = transformers(SCALING).ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, torch.device("cpu"))
        ramp = reading["share_kept"](name) if rope["rope_type"] in ("llama3", "yarn") else None
        ours, own_factor = reading["read_frequencies"](rope, dim, ramp)
        torch.testing.assert_close(ours.float(), theirs, rtol=1e-5, atol=0, msg=name)
        assert math.isclose(own_factor, factor), name


def test_configurations_that_transformers_has_are_as_stated(transformers: Module, reading: dict[str, Any]) -> None:
    stated = {name: (dim, advertised, rope) for name, (dim, _, advertised, rope) in reading["MODELS"].items()}
    oss = transformers("models.gpt_oss").GptOssConfig()
    assert stated["gpt-oss"] == (oss.head_dim, oss.max_position_embeddings, oss.rope_parameters)
    gemma = transformers("models.gemma4.configuration_gemma4").Gemma4TextConfig()
    dim, advertised, rope = stated["Gemma 4 31B"]
    assert (dim, rope) == (gemma.per_layer_config[5].head_dim, gemma.rope_parameters["full_attention"])
    assert advertised == 2 * gemma.max_position_embeddings == 262_144  # a default of the class, not of this model
    assert gemma.layer_types[:6] == ["sliding_attention"] * 5 + ["full_attention"]
    bases = {kind: rope["rope_theta"] for kind, rope in gemma.rope_parameters.items()}
    assert bases == {"sliding_attention": 10_000, "full_attention": 1_000_000}
    llama = transformers("models.llama4").Llama4TextConfig()
    assert llama.rope_parameters["rope_theta"] == stated["Llama 4 Scout"][2]["rope_theta"]


def test_deepseek_v4_rotates_one_vector_for_keys_and_values(transformers: Module, reading: dict[str, Any]) -> None:
    dim, trained, advertised, stated = reading["MODELS"]["DeepSeek-V4"]
    published = {
        name: stated[name]
        for name in ("rope_type", "factor", "original_max_position_embeddings", "beta_fast", "beta_slow")
    }
    config = transformers("models.deepseek_v4").DeepseekV4Config(rope_parameters=published)
    rope, near = config.rope_parameters["compress"], config.rope_parameters["main"]
    assert rope == stated | {"partial_rotary_factor": dim / config.head_dim}
    assert (config.head_dim, config.max_position_embeddings, trained) == (512, advertised, 65_536)
    assert (near["rope_theta"], near["rope_type"]) == (10_000, "default")
    assert (config.num_key_value_heads, config.sliding_window) == (1, 128)
