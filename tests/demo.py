"""``python -m tests.demo``, behind ``make demo``: the small model with your layers speaks, and is measured.

What stands in for a layer that is still to write is an ordinary layer of torch, with weights of its own; none is a
solution of a task. The norm is a LayerNorm over all features, fitted to this model, which then speaks a little worse.
For positions there is a matrix for each, in a basis that is drawn at random: attention only sees products of queries
and keys, which are the same in every basis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from torch.nn import functional

from .harness.messages import Language
from .harness.terminal import end_with
from .models.layers import Desk, Slots
from .models.show import Section, Speech, parser, show
from .models.small import Checkpoint, LanguageModel, load, losses, spoken, windows
from .models.words import say

NEAR = 0.02  # nats; on another machine right layers differ by a thousandth of that
WINDOWS = 32  # pieces of the unseen text
SPOKEN = 150  # characters

Told = Iterator[str]  # characters as they are written


def stand_ins(checkpoint: Checkpoint) -> Slots:
    """Torch's embedding, a LayerNorm in the place of each norm, and a matrix for each position, without scaling."""
    tensors, sizes = checkpoint.tensors, checkpoint.sizes
    norm = partial(functional.layer_norm, normalized_shape=(sizes.hidden,), eps=sizes.eps)
    weights = zip(tensors["plain.weight"], tensors["plain.bias"], strict=True)
    matrices, step = [tensors["positions.first"].double()], tensors["positions.step"].double()
    while len(matrices) < sizes.trained:
        matrices.append(matrices[-1] @ step)
    turns = torch.stack(matrices).float()  # [trained, head_dim, head_dim]
    return Slots(
        lambda ids: functional.embedding(ids, tensors["table"]),
        [partial(norm, weight=weight, bias=bias) for weight, bias in weights],
        lambda x: torch.einsum("bshd,sde->bshe", x, turns[: x.shape[1]]),
    )


class Demo:
    """A model with the student's layers, and what it does.

    Args:
        checkpoint: The weights.
        language: Of all sentences.

    Attributes:
        about: A sentence about the model.
        reports: On each of the student's layers.
    """

    def __init__(self, checkpoint: Checkpoint, language: Language) -> None:
        """Make the student's layers, and stand-ins for those that do not run."""
        self.checkpoint, self.language, self.sizes = checkpoint, language, checkpoint.sizes
        desk, sizes, table = Desk(language), self.sizes, checkpoint.tensors["table"]
        self._plain = stand_ins(checkpoint)
        norms, embed = desk.norms(checkpoint.tensors["gamma"], sizes.head_dim, sizes.eps), desk.embedding(table)
        ropes = desk.ropes(sizes.head_dim, {"own": {"max_seq_len": sizes.trained, "base": sizes.base}})
        self._own = Slots(
            embed or self._plain.embed, norms or self._plain.norms, ropes.get("own", self._plain.positions)
        )
        self.reports = desk.reports
        weights = sum(parameter.numel() for parameter in self._model(self._own).parameters())
        self.about = self._say("model", weights=weights, trained=sizes.trained)

    def parts(self) -> list[Section]:
        """What there is to see."""
        return [Section(self._say("speaks"), self._say("speaks_right"), self.speaks)]

    def speaks(self, section: Section) -> Told:
        """Let the model go on from a text in each language, and see how it predicts unseen text."""
        for prompt in self.checkpoint.prompts.values():
            yield from self._speech(section, prompt)
        loss, right = self._loss(self._own), self._right(self._own)
        near = abs(loss - right) < NEAR
        told = [self._say("loss", loss=loss, right=right, guess=math.log(self.sizes.vocab))]
        if near:
            told.append(self._say("as_right"))
        else:
            culprit = self._culprit()
            told.append(self._say("culprit", name=culprit) if culprit else self._say("not_right"))
        section.verdicts.append((near, ("" if self.language == "zh" else " ").join(told)))

    def _culprit(self) -> str:
        """The one layer of the student's without which the loss is as it should be; empty if there is none."""
        swaps = {
            "VocabEmbedding": replace(self._own, embed=self._plain.embed),
            "NTKAwareRoPE": replace(self._own, positions=self._plain.positions),
            "GroupRMSNorm": replace(self._own, norms=self._plain.norms),
        }
        better = (name for name, slots in swaps.items() if abs(self._loss(slots) - self._right(slots)) < NEAR)
        return next(better, "")

    def _speech(self, section: Section, prompt: str) -> Told:
        speech = Speech(prompt)
        section.speeches.append(speech)
        yield f"\n[{prompt}]"
        ids = self.checkpoint.ids(prompt)
        for chosen in spoken(self._model(self._own), ids, SPOKEN, self.sizes.trained):
            speech.text += self.checkpoint.characters[chosen]
            yield self.checkpoint.characters[chosen]

    def _right(self, slots: Slots) -> float:
        """The loss with right layers; a plain norm in place of the right one gives another."""
        return self.checkpoint.expected["loss, plain norms" if slots.norms is self._plain.norms else "loss"][0]

    def _model(self, slots: Slots) -> LanguageModel:
        model = LanguageModel(self.sizes, slots)
        names = {"head.weight": "table"}  # the last layer is the embedding, turned around
        model.load_state_dict({name: self.checkpoint.tensors[names.get(name, name)] for name in model.state_dict()})
        return model.requires_grad_(False)

    def _loss(self, slots: Slots) -> float:
        """The loss on unseen text of the trained length."""
        text = windows(self.checkpoint.ids(self.checkpoint.unseen), self.sizes.trained, WINDOWS)
        return float(losses(self._model(slots), text).mean())

    def _say(self, key: str, **fields: object) -> str:
        return say(self.language, key, **fields)


def main() -> int:
    """Run the demo, and return 0 only if nothing that the student wrote is wrong in it."""
    return show(parser("tests.demo"), lambda _, language: Demo(load(), language))


if __name__ == "__main__":
    end_with(main)
