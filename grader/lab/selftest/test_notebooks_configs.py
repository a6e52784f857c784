"""The page that reads a config.json, beside transformers: its numbers, its layers, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.lab.site.notebooks import sources
from grader.selftest import LONG
from grader.selftest.browser import Tab
from grader.selftest.small_notebook import NAME
from ref.position.angles import inverse_frequencies

pytestmark = [pytest.mark.process, pytest.mark.slow]

Module = Callable[[str], ModuleType]
MODELS = json.loads((sources.TOUCHES / "configs" / "models.json").read_text(encoding="utf-8"))
TOLD = "document.querySelector('[data-touch=configs] .told').textContent"
STRETCHES = (0.5, 1, 2, 7.5)  # lengths of text, in trained lengths
# The frequencies and layers of a configuration, as the page computes them.
READ = """((text) => {
  const { kinds, layers } = touch.config(text);
  const at = (one) => STRETCHES.map((each) => touch.turned(one, each * one.trained));
  return { layers, kinds: kinds.map((one) => ({ ...one, at: at(one) })) };
})""".replace("STRETCHES", str([*STRETCHES]))
# Types that transformers has under another name, or that keep what a head rotates to themselves.
TWINS = {"internlm2": "llama", "minicpm": "llama", "kimi_k2": "deepseek_v3", "gptj": "llama"}
# Types of which transformers fills in what a configuration leaves out.
FILLED_IN = (
    "gemma gemma2 gpt_oss gemma3_text gemma3n_text gemma4_text cohere2 olmo3 exaone4 llama4_text smollm3 mixtral "
    "gpt_neox stablelm phi glm glm4 glm4_moe nemotron persimmon qwen3_next qwen3_5_text llama qwen3"
)


def config_of(transformers: Module, given: dict[str, Any]) -> Any:
    kind = TWINS.get(given["model_type"], given["model_type"])
    if given["model_type"] == "gptj":
        given = {
            "head_dim": given["rotary_dim"],
            "num_hidden_layers": given["n_layer"],
            "max_position_embeddings": 2048,
        }
    return transformers("models.auto.configuration_auto").CONFIG_MAPPING[kind].from_dict(given | {"model_type": kind})


def turned(transformers: Module, config: Any, kind: str, length: int) -> tuple[torch.Tensor, float]:
    """The frequencies of a kind of layer, and what multiplies cosines and sines, by transformers."""
    label = kind if config.nested_rope_parameter_keys(config.rope_parameters) else None
    rope = config.rope_parameters[label] if label else config.rope_parameters
    if rope["rope_type"] == "default":
        config = config.per_layer_config[kind] if config.is_heterogeneous else config
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return inverse_frequencies(int(head * rope.get("partial_rotary_factor", 1.0)), rope["rope_theta"]), 1.0
    functions = transformers("modeling_rope_utils").ROPE_INIT_FUNCTIONS
    theta, attention = functions[rope["rope_type"]](config, torch.device("cpu"), seq_len=length, layer_type=label)
    return theta, float(attention)


def layers_of(config: Any) -> list[tuple[str, bool]]:
    """For each layer its kind and whether it rotates, by transformers."""
    kinds = getattr(config, "layer_types", None)
    if not kinds:
        window = getattr(config, "sliding_window", None)
        kinds = ["sliding_attention" if window else "full_attention"] * config.num_hidden_layers
    turns = getattr(config, "no_rope_layers", None) or [True] * len(kinds)
    only_near = config.model_type in ("cohere2", "exaone4") and config.sliding_window
    return [
        (kind, bool(turn) and kind != "linear_attention" and not (only_near and kind == "full_attention"))
        for kind, turn in zip(kinds, turns, strict=True)
    ]


def assert_alike(transformers: Module, tab: Tab, given: dict[str, Any]) -> None:
    """The page and transformers read a configuration alike."""
    ours, config = tab.evaluate(f"{READ}({json.dumps(json.dumps(given))})"), config_of(transformers, given)
    if given["model_type"] != "deepseek_v4":  # whose layers look through a window, and beyond it at what is compressed
        assert [(layer["kind"], layer["turns"]) for layer in ours["layers"]] == layers_of(config)
    for kind in ours["kinds"]:
        for stretch, one in zip(STRETCHES, kind["at"], strict=True):
            theta, attention = turned(transformers, config, kind["kind"], int(stretch * kind["trained"]))
            torch.testing.assert_close(torch.tensor(one["theta"]), theta, rtol=1e-5, atol=0)
            assert math.isclose(one["attention"], attention)


def scalings(config: dict[str, Any]) -> set[str]:
    given = config.get("rope_scaling", config.get("rope_parameters", {}))
    flat = [rope for rope in (given, *given.values()) if isinstance(rope, dict)]
    return {str(rope.get("rope_type", rope.get("type", "default"))) for rope in flat}


# The first model of each type of scaling; all thirty with GRADER_LONG=1.
FIRST = {kind: model for model in reversed(MODELS) for kind in scalings(model["config"])}
READ_HERE = [model for model in MODELS if LONG or model in FIRST.values()]


def test_thirty_models_have_every_type_of_scaling(transformers: Module) -> None:
    assert len({one["name"] for one in MODELS}) == len(MODELS) == 30
    assert FIRST.keys() == {"default", *transformers("modeling_rope_utils").ROPE_INIT_FUNCTIONS}
    assert all(one["source"].startswith("https://github.com/") for one in MODELS)


@pytest.mark.parametrize("model", READ_HERE, ids=lambda model: str(model["name"]))
def test_a_real_configuration_is_read_as_transformers_reads_it(
    transformers: Module, view: Tab, model: dict[str, Any]
) -> None:
    assert_alike(transformers, view, model["config"])


def test_what_a_configuration_leaves_out_is_filled_in_as_transformers_does(transformers: Module, view: Tab) -> None:
    for kind in FILLED_IN.split():
        given = {"model_type": kind, "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 12}
        config = config_of(transformers, given | {"max_position_embeddings": 4096})
        own = {name: getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")}
        assert_alike(transformers, view, given | {"max_position_embeddings": 4096} | own)


@pytest.fixture(scope="module", params=sources.LANGUAGES)
def either(tab: Tab, book: Path, request: pytest.FixtureRequest) -> tuple[str, Tab]:
    """A language, and the tab with the page in it."""
    tab.open(book / request.param / f"{NAME}.html")
    return request.param, tab


LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
LLAMA |= {"max_position_embeddings": 128}


@pytest.mark.parametrize(
    ("given", "english", "chinese"),
    [
        ("{", "This is not JSON", "这不是 JSON"),
        ("[1]", "it begins with {", "以 { 开头"),
        ({}, "lacks max_position_embeddings.", "没有 max_position_embeddings。"),
        (LLAMA | {"num_hidden_layers": "two"}, 'num_hidden_layers is "two"', 'num_hidden_layers 是 "two"'),
        (LLAMA | {"num_attention_heads": None}, "lacks num_attention_heads.", "没有 num_attention_heads。"),
        (LLAMA | {"rope_scaling": {"type": "spiral"}}, "not known here. Known: default", "“spiral”，认识的有"),
        (LLAMA | {"rope_scaling": {"type": "linear"}}, "lacks linear: factor.", "没有 linear: factor。"),
        (LLAMA | {"rope_scaling": {"type": "llama3", "factor": 8}}, "lacks llama3: low_freq", "没有 llama3: low_freq"),
        (LLAMA | {"rope_scaling": {"type": "longrope", "short_factor": [1, 1]}}, "needs 8 numbers", "需要 8 个数"),
        (LLAMA | {"head_dim": 15}, "rotate 15 features; an even", "旋转 15 个特征"),
        (LLAMA | {"layer_types": ["full_attention"]}, "does not list 2 layers", "不是 2 层"),
        (LLAMA | {"model_type": "bloom"}, "turns nothing (bloom: ALiBi)", "什么也不转（bloom：ALiBi）"),
    ],
)
def test_what_it_cannot_read_it_says_in_the_language_of_the_page(
    either: tuple[str, Tab], given: dict[str, Any] | str, english: str, chinese: str
) -> None:
    language, tab = either
    text = json.dumps(given if isinstance(given, str) else json.dumps(given))
    tab.evaluate(f"touch.put(document.querySelector('[data-touch=configs] textarea'), 'value', {text})")
    assert {"en": english, "zh": chinese}[language] in tab.evaluate(TOLD)
    assert tab.evaluate("document.querySelectorAll('[data-touch=configs] circle').length") == 0


def test_what_is_assumed_and_what_is_not_read_is_said(view: Tab) -> None:
    sections = {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}
    for given, assumed, unread in (
        (LLAMA, True, False),
        (LLAMA | {"rope_theta": 10000}, False, False),
        (LLAMA | {"rope_theta": 10000} | sections, False, True),
    ):
        text = json.dumps(json.dumps(given))
        view.evaluate(f"touch.put(document.querySelector('[data-touch=configs] textarea'), 'value', {text})")
        told = view.evaluate(TOLD)
        assert ("10,000 is assumed" in told, "Not read: mrope_section." in told) == (assumed, unread)


def test_a_published_file_may_keep_the_text_model_inside_and_leave_most_out(view: Tab) -> None:
    """Gemma 3's names its sizes, a window and a scaling; the rest is that of its class in transformers."""
    whole = next(one["config"] for one in MODELS if one["name"] == "Gemma 3 27B")
    left = {name: value for name, value in whole.items() if not name.startswith(("rope_", "max_", "sliding_window_"))}
    file = {"model_type": "gemma3", "text_config": left | {"rope_scaling": whole["rope_scaling"]}}
    assert "rope_theta" not in file["text_config"]
    read = [view.evaluate(f"{READ}({json.dumps(json.dumps(given))})") for given in (whole, file)]
    assert read[0] == read[1]


def test_keys_choose_a_model_and_the_length_that_is_read(view: Tab) -> None:
    some = "29 come to an angle that training never showed (orange); the first does beyond 65"
    assert some in view.evaluate(TOLD)  # Llama 3.1 in a text of 131,072
    view.press("ARROW_LEFT", at="[data-touch=configs] input[type=range]")
    view.wait_for(f"{TOLD}.includes('65,536, 0 come')")
    view.press("ARROW_DOWN", at="[data-touch=configs] select")
    view.wait_for("JSON.parse(document.querySelector('[data-touch=configs] textarea').value).hidden_size === 2048")


def test_another_scaling_acts_on_the_same_pairs_up_to_the_length_read(view: Tab) -> None:
    """From 8,192 to 131,072: linear scaling by 16 leaves no angle new; without scaling, all slow pairs meet one."""
    pressed = "document.querySelector('[data-touch=configs] [data-control=scaling]').ask({!r})"
    idle = sum(8192 * 500_000 ** (-i / 64) < 2 * math.pi for i in range(64))
    for scaling, new in (("linear", 0), ("default", idle), ("yarn", 0), ("proportional", 0)):
        view.evaluate(pressed.format(scaling))
        assert f", {new} come to an angle" in view.evaluate(TOLD), scaling
    assert " 48 stand still" in view.evaluate(TOLD)


def test_where_implementations_differ_it_says_who_says_so(view: Tab) -> None:
    choose = "document.querySelector('[data-touch=configs] [data-control=model]').ask({!r})"
    links = "[...document.querySelectorAll('[data-touch=configs] ul a')].map((one) => one.pathname.slice(1))"
    for model, issues in (
        ("SmolLM2 135M", []),
        ("InternLM2.5 7B", ["vllm-project/vllm/issues/3488", "ggml-org/llama.cpp/issues/8361"]),
        ("Phi-3.5 mini", ["vllm-project/vllm/issues/27431", "ggml-org/llama.cpp/issues/24875"]),
    ):
        view.evaluate(choose.format(model))
        assert view.evaluate(links) == issues, model
