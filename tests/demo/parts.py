"""The parts of the demo: what each lets the model do, and what it makes of that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ..harness.messages import Language
from . import stand_ins
from .checkpoint import Checkpoint
from .findings import Part, Section, Speech
from .layers import Desk
from .measure import binned, losses, spoken, windows
from .model import LanguageModel, Layer, Slots
from .plot import Curve, Plot
from .words import say

STRETCH = 4  # how many times longer than in training
NEAR = 0.02  # nats; on another machine right layers differ by a thousandth of that
ALIKE = 0.001  # nats between two curves that are drawn as one
BAND = 0.05  # nats to each side of the curve of right layers
WINDOWS = 32  # pieces of the unseen text
BINS = 32  # places of the plot
SPOKEN, SPOKEN_LONG = 150, 180  # characters
MARKS = {"grown": "*", "built": "+", "unscaled": "o"}

Told = Iterator[str]  # characters as they are written


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
        self._plain = Slots(
            stand_ins.embedding(checkpoint),
            stand_ins.norms(checkpoint),
            stand_ins.Positions(checkpoint, STRETCH * sizes.trained),
        )
        ways = {"grown": {}, "built": {"ratio": STRETCH}, "unscaled": {"max_seq_len": STRETCH * sizes.trained}}
        fields = {"max_seq_len": sizes.trained, "base": sizes.base}
        norms, embed = desk.norms(checkpoint.tensors["gamma"], sizes.head_dim, sizes.eps), desk.embedding(table)
        self._ropes = desk.ropes(sizes.head_dim, {name: fields | way for name, way in ways.items()})
        self._own = Slots(
            embed or self._plain.embed, norms or self._plain.norms, self._ropes.get("grown", self._plain.positions)
        )
        self._sound = self._own
        self.reports = desk.reports
        weights = sum(parameter.numel() for parameter in self._model(self._own).parameters())
        self.about = self._say("model", weights=weights, trained=sizes.trained)

    def parts(self) -> list[Part]:
        """What there is to see."""
        trained = self.sizes.trained
        return [
            Part(self._say(part.__name__), self._say(f"{part.__name__}_right", trained=trained), part)
            for part in (self.speaks, self.stretch)
        ]

    # ── 1 ──

    def speaks(self, section: Section) -> Told:
        """Let the model go on from a text in each language, and see how it predicts unseen text."""
        for prompt in self.checkpoint.prompts.values():
            yield from self._speech(section, prompt, self._own, SPOKEN, self.sizes.trained)
        loss, right = self._loss(self._own), self._right("loss", self._own)[0]
        near = abs(loss - right) < NEAR
        told = [self._say("loss", loss=loss, right=right, guess=math.log(self.sizes.vocab))]
        if near:
            told.append(self._say("as_right"))
        else:
            culprit = self._culprit()
            told.append(self._say("culprit", name=culprit) if culprit else self._say("not_right"))
            self._sound = self._plain  # so that part 3 is about positions alone
        section.verdicts.append((near, ("" if self.language == "zh" else " ").join(told)))

    def _culprit(self) -> str:
        """The one layer of the student's without which the loss is as it should be; empty if there is none."""
        swaps = {
            "VocabEmbedding": replace(self._own, embed=self._plain.embed),
            "NTKAwareRoPE": replace(self._own, positions=self._plain.positions),
            "GroupRMSNorm": replace(self._own, norms=self._plain.norms),
        }
        better = (
            name for name, slots in swaps.items() if abs(self._loss(slots) - self._right("loss", slots)[0]) < NEAR
        )
        return next(better, "")

    # ── 2 ──

    def stretch(self, section: Section) -> Told:
        """Predict and write at four times the trained length, with scaling and without."""
        own, length = self._ropes, STRETCH * self.sizes.trained
        ways = own or {"unscaled": self._plain.positions}
        if own:
            about = self._say("long_text", trained=self.sizes.trained)
            slots = replace(self._sound, positions=own["grown"])
            yield from self._speech(section, self.checkpoint.prompts["en"], slots, SPOKEN_LONG, length, about)
        text = windows(self.checkpoint.ids(self.checkpoint.unseen), length, WINDOWS)
        models = {key: self._model(replace(self._sound, positions=positions)) for key, positions in ways.items()}
        values = {key: binned(losses(model, text), BINS) for key, model in models.items()}
        names = {key: self._say(key, ratio=STRETCH) for key in values}
        if own and max(abs(one - other) for one, other in zip(values["grown"], values["built"], strict=True)) < ALIKE:
            del values["built"]
            names["grown"] = self._say("grown_and_built", ratio=STRETCH)
        curves = [Curve(key, names[key], MARKS[key], values[key]) for key in values]
        right = self._right("curve", self._sound)
        band = [(value - BAND, value + BAND) for value in right]
        words = {key: self._say(key) for key in ("band", "axis_x", "axis_y", "trained_to")}
        section.plot = Plot(curves, band, length // BINS, self.sizes.trained, words)
        section.verdicts += [self._in_band(curve, section.plot) for curve in curves if curve.key != "unscaled"]
        if own:
            section.verdicts.append(self._short_again(own["grown"]))
        else:
            section.verdicts.append((None, self._say("no_scaling")))

    def _short_again(self, grown: Layer) -> tuple[bool, str]:
        """Whether positions that have grown for a long text serve a short one as before, and a sentence about it."""
        slots = replace(self._sound, positions=grown)
        loss, right = self._loss(slots), self._right("loss", slots)[0]
        near = abs(loss - right) < NEAR
        return near, self._say("short_again" if near else "short_changed", loss=loss, right=right)

    def _in_band(self, curve: Curve, plot: Plot) -> tuple[bool, str]:
        """Whether a curve stays in the band, and a sentence that says so."""
        out = plot.places_outside(curve)
        if not out:
            return True, self._say("in_band", name=curve.name)
        first = out[0] * plot.per_value + 1
        return False, self._say("out_of_band", name=curve.name, places=len(out), all=BINS, first=first)

    # ── All ──

    def _speech(self, section: Section, prompt: str, slots: Slots, count: int, most: int, about: str = "") -> Told:
        speech = Speech(prompt, about)
        section.speeches.append(speech)
        yield from about
        yield f"\n[{prompt}]"
        for chosen in spoken(self._model(slots), self.checkpoint.ids(prompt), count, most):
            speech.text += self.checkpoint.characters[chosen]
            yield self.checkpoint.characters[chosen]

    def _right(self, what: str, slots: Slots) -> list[float]:
        """What was measured with right layers; a plain norm in place of the right one gives other numbers."""
        return self.checkpoint.expected[f"{what}, plain norms" if slots.norms is self._plain.norms else what]

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
