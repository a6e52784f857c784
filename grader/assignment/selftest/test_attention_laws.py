"""Laws of ``ref/position/attention.py``, the layer into which every encoding plugs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ref.position import (
    Additive,
    ALiBi,
    CausalSelfAttention,
    KeyValueCache,
    LearnedEncoding,
    NoPE,
    PositionEncoding,
    Rotary,
    Scaled,
    dynamic_scaling,
    no_scaling,
    rotate_adjacent,
    sinusoidal_encoding,
)

HIDDEN, HEADS, HEAD_DIM, TRAINED = 32, 4, 8, 4
dynamic = Rotary(lambda length: dynamic_scaling(HEAD_DIM, length=length, original_length=TRAINED))
ENCODINGS: dict[str, PositionEncoding] = {
    "nope": NoPE(),
    "alibi": ALiBi(HEADS),
    "rotary": Rotary(no_scaling(HEAD_DIM)),
    "rotary_adjacent": Rotary(no_scaling(HEAD_DIM), rotate_adjacent),
    "rotary_dynamic": dynamic,
    "sinusoidal": Additive(sinusoidal_encoding),
    "learned": LearnedEncoding(64, HIDDEN, init_std=1.0),
}
encodings = pytest.mark.parametrize("name", ENCODINGS)
kv_heads = pytest.mark.parametrize("num_kv_heads", [4, 2, 1])


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Weights are drawn by ``nn.Linear`` from the global generator."""
    torch.manual_seed(0)


def embedded(name: str, x: Tensor, first: int = 0) -> Tensor:
    """``x`` as it would reach the first layer, at positions from ``first`` on."""
    return ENCODINGS[name].embed(x, torch.arange(first, first + x.shape[1]))


def step_by_step(attention: CausalSelfAttention, x: Tensor) -> Tensor:
    """Token after token, through a cache."""
    cache = KeyValueCache()
    return torch.cat([attention(token, cache) for token in x.split(1, dim=1)], dim=1)


@pytest.mark.slow
@encodings
@kv_heads
def test_a_cache_gives_what_the_whole_sequence_gives(name: str, num_kv_heads: int) -> None:
    """In two halves. Where angles depend on the length, that holds of the last half, since all of it has one length."""
    attention = CausalSelfAttention(HIDDEN, HEADS, ENCODINGS[name], num_kv_heads)
    x, cache = torch.randn(2, 12, HIDDEN), KeyValueCache()
    whole = attention(embedded(name, x))
    attention(embedded(name, x[:, :6]), cache)
    second = attention(embedded(name, x[:, 6:], first=6), cache)
    torch.testing.assert_close(second, whole[:, 6:])
    assert cache.length == 12


def test_keys_that_were_rotated_before_the_base_grew_are_stale() -> None:
    """The last token is right only with a cache of unrotated keys; transformers#25104 tells of the bug."""
    attention = CausalSelfAttention(HIDDEN, HEADS, dynamic)
    x = torch.randn(2, 12, HIDDEN)
    whole = attention(x)
    torch.testing.assert_close(step_by_step(attention, x)[:, -1], whole[:, -1])
    attention.caches_rotated_keys = True
    assert (step_by_step(attention, x)[:, -1] - whole[:, -1]).abs().max() > 1e-3


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "nope"])
def test_every_encoding_but_nope_tells_the_order_of_earlier_tokens(name: str) -> None:
    """One layer without positions sees a bag of those before; with any other encoding it does not."""
    attention = CausalSelfAttention(HIDDEN, HEADS, ENCODINGS[name])
    x = torch.randn(2, 12, HIDDEN)
    shuffled = torch.cat((x[:, :11].flip(1), x[:, 11:]), dim=1)
    last, after = (attention(embedded(name, order))[:, -1] for order in (x, shuffled))
    assert (last - after).abs().max() > 1e-3


@pytest.mark.parametrize("sizes", [(30, 4, None), (32, 4, 3)], ids=["heads", "kv_heads"])
def test_sizes_that_do_not_divide_are_an_error(sizes: tuple[int, int, int | None]) -> None:
    hidden, heads, kv = sizes
    with pytest.raises(ValueError, match=f"hidden_size={hidden}, num_heads={heads}"):
        CausalSelfAttention(hidden, heads, NoPE(), kv)


def test_the_attention_factor_reaches_what_is_rotated() -> None:
    theta, _ = no_scaling(HEAD_DIM)
    x, positions = torch.randn(1, 5, 2, HEAD_DIM), torch.arange(5)
    plain, sharper = (Rotary(Scaled(theta, factor)).rotate(x, positions, 5) for factor in (1.0, 1.5))
    torch.testing.assert_close(sharper, 1.5 * plain)


def test_frequencies_are_not_rounded_with_the_module() -> None:
    """Buffers would be: at position 4095 no angle would be right."""
    rotate: Callable[..., Tensor] = Rotary(no_scaling(HEAD_DIM)).to(torch.bfloat16).rotate
    x, far = torch.randn(1, 1, 1, HEAD_DIM), torch.tensor([4095])
    assert torch.equal(rotate(x, far, 4096), Rotary(no_scaling(HEAD_DIM)).rotate(x, far, 4096))
