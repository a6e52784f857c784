"""A language model of half a million weights, and its checkpoint.

``small.safetensors`` holds a character-level language model, three transformer blocks of 128 features, trained by the
course with the reference's layers on sequences of at most 64 characters. Whatever of your work runs takes its place in
it; a stand-in from the checkpoint takes that of the rest. The texts it was trained on are in the public domain:

- 300 Tang poems, 7th to 10th century, without titles: ``tang300`` of Debian's ``fortunes-zh`` 2.98, a GPL-3+ package
- Opticks, Isaac Newton, 4th edition, 1730, paragraphs without formulas: ``Isaac.Newton-Opticks.txt`` of Debian's
  ``golang-1.19-src`` 1.19.8-2

The weights, and the code here, have the licence of the course (MIT). The header of the file holds its sizes, its
alphabet, a piece of the Opticks that it was not trained on, and the losses of right layers on it.

模型是字符级的：三个 transformer block，128 个特征，由课程用参考实现的各层训练。你写好的层会放进这个模型里运行；
还没写好的由检查点自带的替身代替，替身都不是任务的解答。训练文本《唐诗三百首》和牛顿的《光学》属于公有领域；
权重和代码使用课程的许可证（MIT）。

The format is that of https://github.com/huggingface/safetensors: the length of the header (8 bytes), the header (JSON:
name, dtype, shape and place of each tensor, and a table of texts), then all numbers, one tensor after the other.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from .layers import Sizes, Slots


class LanguageModel(nn.Module):
    """Predicts the next character from those before it.

    Args:
        sizes: Of the checkpoint.
        slots: Embedding, norms and positions.
    """

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
        queries, keys, values = (self._heads(part) for part in self.qkv[block](x).chunk(3, dim=-1))
        queries, keys = self.slots.positions(queries), self.slots.positions(keys)
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2), is_causal=True
        )
        return self.out[block](mixed.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        """``[b, s, hidden]`` as ``[b, s, heads, head_dim]``."""
        return x.unflatten(-1, (self.sizes.heads, -1))


FILE = Path(__file__).with_name("small.safetensors")
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
    """Draw ``count`` further ids, one after the other, the same ones each time.

    Args:
        model: Predicts from at most the last ``most`` ids.
        prompt: ``[1, s]``.
        count: How many ids.
        most: The longest sequence that the model sees.
    """
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
