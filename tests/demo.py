"""``python -m tests.demo``, behind ``make demo``: a small language model with your layers speaks, and is measured.

``models/small.safetensors`` holds a character-level language model of half a million weights, three transformer blocks
of 128 features, trained by the course with the reference's layers on sequences of at most 64 characters. Whatever of
your work runs takes its place in it. What stands in for the rest is an ordinary layer of torch, with weights of its
own; none is a solution of a task. The norm is a LayerNorm over all features, fitted to this model, which then speaks a
little worse. For positions there is a matrix for each, in a basis that is drawn at random: attention only sees products
of queries and keys, which are the same in every basis.

The texts it was trained on are in the public domain:

- 300 Tang poems, 7th to 10th century, without titles: ``tang300`` of Debian's ``fortunes-zh`` 2.98, a GPL-3+ package
- Opticks, Isaac Newton, 4th edition, 1730, paragraphs without formulas: ``Isaac.Newton-Opticks.txt`` of Debian's
  ``golang-1.19-src`` 1.19.8-2

The weights, and the code here, have the licence of the course (MIT).

模型是字符级的：三个 transformer block，128 个特征，由课程用参考实现的各层训练。你写好的层会放进这个模型里运行；
还没写好的由检查点自带的替身代替，替身都不是任务的解答。训练文本《唐诗三百首》和牛顿的《光学》属于公有领域；
权重和代码使用课程的许可证（MIT）。
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from .harness.terminal import Language, end_with
from .models.layers import Desk, Sizes, Slots
from .models.show import Section, Speech, parser, say, show


class LanguageModel(nn.Module):
    """Predicts the next character from those before it."""

    def __init__(self, sizes: Sizes, slots: Slots) -> None:
        """Make the linear layers; their weights come from the checkpoint, or from training."""
        super().__init__()
        self.sizes, self.slots = sizes, slots
        hidden, inner, blocks = sizes.hidden, sizes.inner, range(sizes.blocks)
        self.qkv = nn.ModuleList(nn.Linear(hidden, 3 * hidden, bias=False) for _ in blocks)
        self.out = nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in blocks)
        self.wide = nn.ModuleList(nn.Linear(hidden, inner, bias=False) for _ in blocks)
        self.back = nn.ModuleList(nn.Linear(inner, hidden, bias=False) for _ in blocks)
        self.head = nn.Linear(hidden, sizes.vocab, bias=False)

    def forward(self, ids: Tensor, last: int = 0) -> Tensor:
        """Scores of each next character, ``[b, s, vocab]``, for ids ``[b, s]``; only the ``last`` ones if not 0."""
        x = self.slots.embed(ids)
        for block in range(self.sizes.blocks):
            before, between = self.slots.norms[2 * block : 2 * block + 2]
            x = x + self._attention(block, before(x))
            x = x + self.back[block](functional.gelu(self.wide[block](between(x))))
        return self.head(self.slots.norms[-1](x)[:, -last:])

    def _attention(self, block: int, x: Tensor) -> Tensor:
        heads = self.qkv[block](x).unflatten(-1, (3, self.sizes.heads, -1))
        queries, keys, values = heads.unbind(2)  # [b, s, heads, head_dim]
        queries, keys = self.slots.positions(queries), self.slots.positions(keys)
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), is_causal=True
        )
        return self.out[block](mixed.transpose(1, 2).flatten(2))


FILE = Path(__file__).parent / "models" / "small.safetensors"
DTYPES = {"F16": torch.float16, "F32": torch.float32}


@dataclass(frozen=True)
class Checkpoint:
    """What training left behind.

    Attributes:
        sizes: Of the model.
        tensors: By name, in float32.
        characters: Each character that the model knows, at the place of its id.
        prompts: What the model goes on from, by language.
        unseen: A text that it was not trained on.
        expected: What was measured with right layers, by name: the losses that the demo compares with.
    """

    sizes: Sizes
    tensors: dict[str, Tensor]
    characters: str
    prompts: dict[str, str]
    unseen: str
    expected: dict[str, list[float]]

    def ids(self, text: str) -> Tensor:
        """The ids of a text, ``[1, s]``."""
        places = {character: place for place, character in enumerate(self.characters)}
        return torch.tensor([[places[character] for character in text]])


def load(file: Path = FILE) -> Checkpoint:
    """Read the checkpoint.

    Raises:
        ValueError: If the file is no checkpoint of this model, or is cut off.
    """
    tensors, texts = read(file.read_bytes())
    try:
        sizes = Sizes(**json.loads(texts["sizes"]))
        told = (texts["characters"], json.loads(texts["prompts"]), texts["unseen"], json.loads(texts["expected"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file.name} lacks {error}; unpack the assignment again.") from None
    return Checkpoint(sizes, tensors, *told)


def read(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file, in float32, and its table of texts.

    The file has the length of its header (8 bytes), the header (JSON: name, dtype, shape and place of each tensor, and
    a table of texts), then all numbers: see https://github.com/huggingface/safetensors.

    Raises:
        ValueError: If it is none, or is cut off.
    """
    try:
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        texts = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            first, last = (start + place for place in entry["data_offsets"])
            dtype = DTYPES[entry["dtype"]]
            if last > len(data) or last - first != math.prod(entry["shape"]) * dtype.itemsize:
                raise ValueError(f"some numbers of {name} are missing")
            numbers = torch.frombuffer(bytearray(data[first:last]), dtype=dtype)
            tensors[name] = numbers.view(entry["shape"]).float()
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"This is not a complete safetensors file ({error}); unpack the assignment again.") from None
    return tensors, texts


SEED = 42
TEMPERATURE = 0.4  # below 1, likely characters become likelier
BATCH = 16  # windows at a time, so that little memory is needed


@torch.no_grad()
def spoken(model: LanguageModel, prompt: Tensor, count: int, most: int) -> Iterator[int]:
    """Draw ``count`` further ids after ``prompt: [1, s]``, each from the last ``most``, the same ones each time."""
    draws = random.Random(SEED)  # torch's generators may change with its version
    ids = prompt
    for _ in range(count):
        chances = (model(ids[:, -most:], last=1)[0, 0].double() / TEMPERATURE).softmax(-1).cumsum(-1)
        chosen = int((chances < draws.random()).sum().clamp(max=len(chances) - 1))
        ids = torch.cat((ids, torch.tensor([[chosen]])), dim=1)
        yield chosen


@torch.no_grad()
def losses(model: LanguageModel, windows: Tensor) -> Tensor:
    """The loss in nats at each position, averaged over ``windows: [n, s + 1]``; returns ``[s]``."""
    parts = [
        functional.cross_entropy(model(part[:, :-1]).transpose(1, 2), part[:, 1:], reduction="none")
        for part in windows.split(BATCH)
    ]
    return torch.cat(parts).mean(0)


def windows(ids: Tensor, length: int, count: int) -> Tensor:
    """``count`` pieces of a text, ``[count, length + 1]``, from its beginning to its end; they may overlap."""
    starts = torch.linspace(0, ids.shape[1] - length - 1, count).long()
    return ids[0][starts[:, None] + torch.arange(length + 1)]


# ── With a student's layers ──

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
