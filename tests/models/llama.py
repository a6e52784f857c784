"""A Llama with places for the layers that students write, with a cache of keys and values, and with layers of its own.

It has the weights of a GGUF file, whose rows of queries and keys are ordered so that neighbours are the pairs that
rotation turns. Queries and keys are cached before they are turned: layers of the assignment count positions from 0.
Its own layers are functions of torch that compute what the published model computes, so they stand in for a layer that
is still to write, and are what a student's layers are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ..harness.terminal import Language
from .layers import Desk, Layer, Sizes, Slots

Cache = dict[int, tuple[Tensor, Tensor]]  # by block: keys, not yet turned, and values, [1, s, kv_heads, head_dim]
ROWS = 256  # positions at a time whose scores are computed: each has one for every token


def facts_of(file: Any) -> dict[str, Any]:
    """What a ``gguf.GGUFReader`` says about its model and the tokenizer, by name."""
    return {name: field.contents() for name, field in file.fields.items()}


def weights(file: Any, *names: str) -> Tensor:
    """Tensors of a ``gguf.GGUFReader`` in float32, the rows of one after those of another."""
    stored, numbers = {tensor.name: tensor for tensor in file.tensors}, import_module("gguf").dequantize
    return torch.cat([torch.tensor(numbers(stored[name].data, stored[name].tensor_type)) for name in names])


class Llama:
    """Predicts the next token from those before it, with the weights of a ``gguf.GGUFReader``.

    ``progress`` is called from time to time, with the share of the weights that has been read.

    Attributes:
        sizes: Of the model.
        table: The embedding, ``[vocab, hidden]``, which also scores the next token.
        gammas: Of each norm, ``[2 * blocks + 1, hidden]``: two in a block, and a last one.

    Raises:
        ValueError: If the file holds another kind of model.
    """

    def __init__(self, file: Any, progress: Callable[[float], None] = lambda _: None) -> None:
        facts, read = facts_of(file), partial(weights, file)
        if facts.get("general.architecture") != "llama" or any(one.name == "output.weight" for one in file.tensors):
            raise ValueError("This file holds another kind of model; a Llama with a tied embedding runs here.")
        self.table = read("token_embd.weight")
        self.sizes = Sizes(
            vocab=len(self.table),
            hidden=facts["llama.embedding_length"],
            heads=facts["llama.attention.head_count"],
            blocks=facts["llama.block_count"],
            inner=facts["llama.feed_forward_length"],
            trained=facts["llama.context_length"],
            base=int(facts["llama.rope.freq_base"]),
            eps=facts["llama.attention.layer_norm_rms_epsilon"],
        )
        self._kv_heads = facts["llama.attention.head_count_kv"]  # each serves several heads of queries
        gammas, self._blocks = [], []
        for block in range(self.sizes.blocks):
            progress((block + 1) / self.sizes.blocks)
            parts = PARTS_OF_A_BLOCK.items()
            self._blocks.append({key: read(*(f"blk.{block}.{name}.weight" for name in names)) for key, names in parts})
            gammas += [read(f"blk.{block}.{name}.weight") for name in ("attn_norm", "ffn_norm")]
        self.gammas = torch.stack([*gammas, read("output_norm.weight")])

    @property
    def count(self) -> int:
        """How many weights there are."""
        blocks = (weight for block in self._blocks for weight in block.values())
        return sum(weight.numel() for weight in (self.table, self.gammas, *blocks))

    def states(self, slots: Slots, ids: Tensor, cache: Cache | None = None) -> Iterator[Tensor]:
        """What each layer makes of ids ``[1, s]``: after the embedding, after each block, and after the last norm.

        The ids are all positions, or the one after those in ``cache``, which is extended by them.
        """
        x = slots.embed(ids)
        yield x
        for block, weights in enumerate(self._blocks):
            before, between = slots.norms[2 * block : 2 * block + 2]
            x = x + self._attention(block, before(x), slots, {} if cache is None else cache)
            gate, up = functional.linear(between(x), weights["wide"]).chunk(2, dim=-1)
            x = x + functional.linear(functional.silu(gate) * up, weights["back"])
            yield x
        yield slots.norms[-1](x)

    def _attention(self, block: int, x: Tensor, slots: Slots, cache: Cache) -> Tensor:
        sizes, weights = self.sizes, self._blocks[block]
        heads = functional.linear(x, weights["qkv"]).unflatten(-1, (-1, sizes.head_dim))  # [1, s, heads, head_dim]
        queries, keys, values = heads.split((sizes.heads, self._kv_heads, self._kv_heads), dim=2)
        if block in cache:
            keys, values = (torch.cat(both, dim=1) for both in zip(cache[block], (keys, values), strict=True))
        cache[block] = keys, values
        earlier = keys.shape[1] - queries.shape[1]  # positions without a query, where zeros keep the place
        queries = slots.positions(functional.pad(queries, (0, 0, 0, 0, earlier, 0)))[:, earlier:]
        mixed = functional.scaled_dot_product_attention(
            *(part.transpose(1, 2) for part in (queries, slots.positions(keys), values)),
            is_causal=not earlier,
            enable_gqa=True,
        )
        return functional.linear(mixed.transpose(1, 2).flatten(2), weights["out"])

    def scores(self, x: Tensor) -> Tensor:
        """Scores of each next token, ``[..., vocab]``, from what the last norm gave."""
        return functional.linear(x, self.table)

    def next_ids(self, slots: Slots, ids: list[int], most: int, end: int) -> Iterator[int]:
        """Up to ``most`` further ids, each the likeliest, until the id ``end``."""
        cache: Cache = {}
        for _ in range(most):
            *_, x = self.states(slots, torch.tensor([ids]), cache)
            chosen = int(self.scores(x[0, -1]).argmax())
            if chosen == end:
                return
            yield chosen
            ids = [chosen]

    def losses(self, x: Tensor, ids: Tensor) -> Tensor:
        """The loss in nats at each position of ids ``[s + 1]``, from what the last norm gave, ``[1, s, hidden]``."""
        loss = partial(functional.cross_entropy, reduction="none")
        parts = zip(x[0].split(ROWS), ids[1:].split(ROWS), strict=True)
        return torch.cat([loss(self.scores(part), right) for part, right in parts])


PARTS_OF_A_BLOCK = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "wide": ("ffn_gate", "ffn_up"),
    "back": ("ffn_down",),
}


def published(model: Llama) -> Slots:
    """The layers of the published model."""
    return Slots(
        lambda ids: functional.embedding(ids, model.table),
        norms(model, model.gammas),
        Turns(model.sizes.head_dim, model.sizes.base),
    )


def norms(model: Llama, gammas: Tensor) -> list[Layer]:
    """Torch's norm in each place."""
    normalise = partial(functional.rms_norm, normalized_shape=(model.sizes.hidden,), eps=model.sizes.eps)
    return [partial(normalise, weight=gamma) for gamma in gammas]


class Turns:
    """Takes neighbouring features as complex numbers, and multiplies each by a power of its own unit number.

    The last pair turns almost ``base`` times more slowly than the first.
    """

    def __init__(self, head_dim: int, base: int) -> None:
        """Find the number of each pair, ``[head_dim / 2]``."""
        pairs = head_dim // 2
        speeds = torch.logspace(0, 1 / pairs - 1, pairs, base, dtype=torch.float64)
        self._units = torch.polar(torch.ones_like(speeds), speeds)
        self._powers = self._units[:0, None]  # [s, 1, head_dim / 2], of the positions so far

    def __call__(self, x: Tensor) -> Tensor:
        """``[1, s, heads, head_dim]``, each position by the power that is its number."""
        length = x.shape[1]
        if length > len(self._powers):
            self._powers = (self._units ** torch.arange(2 * length)[:, None, None]).to(torch.complex64)
        turned = self._powers[:length] * torch.complex(x[..., ::2], x[..., 1::2])
        return torch.stack((turned.real, turned.imag), dim=-1).flatten(-2)


def halves(x: Tensor) -> Tensor:
    """Features in the order of the assignment: the first of every pair, then the second."""
    return x.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)


# ── With a student's layers ──

ALIKE = 1e-9  # of a cosine; right layers in another order of additions differ by a thousandth of that
NEAR = 1e-3  # relative, of perplexities, as a cosine misses a common factor
IDS_AT_A_TIME = 4096
WINDOW, LENGTH = 256, 1024  # tokens: of the shortened window, and of the text that is longer
# With these bases the slowest pair turns as far in 256 and 1,024 tokens as it does in 12,288 in the published model.
SHORT_BASE, LONG_BASE = 1839, 7692.4


@dataclass(frozen=True)
class Look:
    """What a model makes of a text: ``states: [s, hidden]`` after the embedding, each block and the last norm."""

    states: Sequence[Tensor]
    perplexity: float

    def cosines(self, other: Look) -> list[float]:
        """For each state how far it points in the direction of the other's, averaged over the tokens."""
        pairs = zip(self.states, other.states, strict=True)
        return [float(functional.cosine_similarity(a.double(), b.double(), dim=-1).mean()) for a, b in pairs]

    def first_difference(self, other: Look) -> int | None:
        """The number of the first state that differs; None if all are alike, and the perplexity is."""
        apart = [place for place, cosine in enumerate(self.cosines(other)) if not cosine > 1 - ALIKE]
        near = abs(math.log(self.perplexity / other.perplexity)) < NEAR
        return apart[0] if apart else None if near else len(self.states) - 1


class Pieces:
    """Slots of a model for the student's layers, with the table split over so many ranks, or whole for 0.

    Attributes:
        desk: Where the layers were made, with a report on each.
        plain: Stand-ins everywhere, which is the published model.
        single: By the name of a student's class the slots with that layer alone.
        own: All of the student's layers that run.
        embeddings: By name, those of the student's.
        short: By name, the student's rotary embeddings for the shortened window.
    """

    def __init__(self, model: Llama, ranks: int, language: Language) -> None:
        sizes = model.sizes
        self.desk = desk = Desk(language)
        self.plain = plain = published(model)
        own_norms = desk.norms(model.gammas, sizes.hidden, sizes.eps)
        self.embeddings = {
            "VocabEmbedding": desk.embedding(model.table),
            "ParallelVocabEmbedding": desk.shards(model.table, ranks or 2),
        }
        ropes = desk.ropes(
            sizes.head_dim,
            {
                "whole": {"max_seq_len": sizes.trained, "base": sizes.base},
                "scaled": {"max_seq_len": WINDOW, "base": SHORT_BASE},
                "unscaled": {"max_seq_len": LENGTH, "base": SHORT_BASE},
            },
        )
        self.short = {name: in_halves(rope) for name, rope in ropes.items()}
        self.single = {
            name: replace(plain, **{slot: layer})
            for name, slot, layer in (
                ("GroupRMSNorm", "norms", own_norms),
                *((name, "embed", layer) for name, layer in self.embeddings.items()),
                ("NTKAwareRoPE", "positions", self.short.pop("whole", None)),
            )
            if layer
        }
        chosen = "ParallelVocabEmbedding" if ranks else "VocabEmbedding"
        self.own = Slots(
            self.single.get(chosen, plain).embed,
            self.single.get("GroupRMSNorm", plain).norms,
            self.single.get("NTKAwareRoPE", plain).positions,
        )
        ones = torch.ones_like(model.gammas)
        self.mistakes = {
            "neighbours": replace(plain, positions=in_halves(plain.positions)),
            "no_gamma": replace(plain, norms=norms(model, ones)),
        }


def in_halves(layer: Layer) -> Layer:
    """The layer on features in the order of the assignment; attention sees the same in every order."""
    return lambda x: layer(halves(x))


@torch.no_grad()
def look(model: Llama, slots: Slots, ids: list[int]) -> Look:
    """What the model makes of a text with these layers."""
    states = list(model.states(slots, torch.tensor([ids[:-1]])))
    loss = model.losses(states[-1], torch.tensor(ids)).mean()
    return Look([state[0] for state in states], math.exp(min(float(loss), 700.0)))


def wrong_rows(embedding: Layer, table: Tensor) -> Tensor:
    """For each id whether its row differs from that of the table."""
    ids = torch.arange(len(table)).split(IDS_AT_A_TIME)
    return torch.cat([(embedding(part[None])[0] != table[part]).any(-1) for part in ids])
