"""The student's layers in the places of the published model's own, one at a time or all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from ..demo.layers import Desk
from ..demo.model import Layer, Slots
from ..harness.messages import Language
from . import stand_ins
from .llama import Llama

ALIKE = 1e-9  # of a cosine; right layers in another order of additions differ by a thousandth of that
NEAR = 1e-3  # relative, of perplexities, as a cosine misses a common factor
IDS_AT_A_TIME = 4096
WINDOW, LENGTH = 256, 1024  # tokens: of the shortened window, and of the text that is longer
# With these bases the slowest pair turns as far in 256 and 1,024 tokens as it does in 12,288 in the published model.
SHORT_BASE, LONG_BASE = 1839, 7692.4


@dataclass(frozen=True)
class Look:
    """What a model makes of a text.

    Attributes:
        states: After the embedding, each block and the last norm, ``[s, hidden]``.
        perplexity: The exponential of the mean loss.
    """

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
    """Slots of a model for the student's layers.

    Args:
        model: With the published weights.
        ranks: Over how many ranks the table is split; 0 for whole.
        language: Of reports.

    Attributes:
        desk: Where the layers were made, with a report on each.
        plain: Stand-ins everywhere, which is the published model.
        single: By the name of a student's class the slots with that layer alone.
        own: All of the student's layers that run.
        embeddings: By name, those of the student's.
        short: By name, the student's rotary embeddings for the shortened window.
    """

    def __init__(self, model: Llama, ranks: int, language: Language) -> None:
        """Make the layers; those of stubs are missing."""
        sizes = model.sizes
        self.desk = desk = Desk(language)
        self.plain = plain = stand_ins.slots(model)
        norms = desk.norms(model.gammas, sizes.hidden, sizes.eps)
        self.embeddings = {
            "VocabEmbedding": desk.embedding(model.table),
            "ParallelVocabEmbedding": desk.shards(model.table, ranks or 2),
        }
        ropes = desk.ropes(
            sizes.head_dim,
            {
                "whole": {"max_seq_len": sizes.window, "base": sizes.base},
                "scaled": {"max_seq_len": WINDOW, "base": SHORT_BASE},
                "unscaled": {"max_seq_len": LENGTH, "base": SHORT_BASE},
            },
        )
        self.short = {name: in_halves(rope) for name, rope in ropes.items()}
        self.single = {
            name: replace(plain, **{slot: layer})
            for name, slot, layer in (
                ("GroupRMSNorm", "norms", norms),
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
            "no_gamma": replace(plain, norms=stand_ins.norms(model, ones)),
        }


def in_halves(layer: Layer) -> Layer:
    """The layer on features in the order of the assignment; attention sees the same in every order."""
    return lambda x: layer(stand_ins.halves(x))


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
