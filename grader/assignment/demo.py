"""``python -m grader.assignment.demo``: train the model of ``make demo`` again, in minutes on one core.

It learns with the reference's layers, on sequences of at most 64 characters. Then the weights are frozen, and
LayerNorms are fitted in place of its norms: stand-ins for a norm that the student has not written yet. The file holds
no answer to a task; for positions it has matrices in a random basis, not tables of angles.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from ref.modeling import GroupRMSNorm, NTKAwareRoPE, VocabEmbedding
from tests.demo import FILE, WINDOWS, Checkpoint, LanguageModel, losses, stand_ins, windows
from tests.models.layers import Layer, Sizes, Slots

POEMS = Path("/usr/share/games/fortunes/tang300")  # of fortunes-zh 2.98
PROSE = Path("/usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt")  # of golang-1.19-src 1.19.8-2
UNSEEN = 12  # of so many paragraphs, one is kept from training
KNOWN = re.compile(r"[A-Za-z0-9 ,.;:'()?\-]{120,}")  # a paragraph of words, not of formulas and captions
SEED = 7
BATCH = 24
STEPS, STEPS_OF_STAND_INS = 2600, 300
RATE, RATE_OF_STAND_INS, WARM_UP = 4e-3, 1e-2, 50
POEMS_SHARE = 0.5  # of the batches
PROMPTS = {"en": "The Rays of ", "zh": "春眠不觉晓，"}
EXACT = ("positions.first", "positions.step")  # in 32 bits: they are multiplied by each other


def _texts(poems: Path, prose: Path) -> tuple[str, str, str]:
    """What training reads, prose and poems, and further paragraphs of the prose that it never sees.

    A paragraph is a line. The poems are without their coloured titles and authors; an empty line is between two.
    """
    paragraphs = [" ".join(part.split()).replace("_", "") for part in re.split(r"\n\s*\n", prose.read_text("utf-8"))]
    known = [paragraph for paragraph in paragraphs if KNOWN.fullmatch(paragraph)]
    seen = [paragraph for place, paragraph in enumerate(known) if (place + 1) % UNSEEN]
    verses = (
        "\n".join(line.strip() for line in poem.splitlines() if line.strip() and "\x1b" not in line)
        for poem in poems.read_text("utf-8").split("\n%\n")
    )
    whole = "\n\n".join(poem for poem in verses if poem and "%" not in poem)
    return "\n".join(seen), whole, "\n".join(known[UNSEEN - 1 :: UNSEEN])


def main() -> None:
    """Train and fit, measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--poems", type=Path, default=POEMS)
    parser.add_argument("--prose", type=Path, default=PROSE)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=FILE)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    prose, poems, unseen = _texts(arguments.poems, arguments.prose)
    characters = "".join(sorted({*prose, *poems, *unseen}))
    sizes = Sizes(len(characters), hidden=128, heads=4, blocks=3, inner=384, trained=64, base=100, eps=1e-5)
    blank = Checkpoint(sizes, {}, characters, PROMPTS, unseen, {})
    batches = _batches(blank.ids(prose)[0], blank.ids(poems)[0], sizes.trained)
    tensors = _trained(sizes, batches, arguments.steps) | _positions(sizes)
    stored = {name: tensor.half() if name not in EXACT else tensor for name, tensor in tensors.items()}
    expected = _expected(replace(blank, tensors={name: tensor.float() for name, tensor in stored.items()}))
    told = {
        "sizes": json.dumps(asdict(sizes)),
        "characters": characters,
        "prompts": json.dumps(PROMPTS, ensure_ascii=False),
        "unseen": unseen,
        "expected": json.dumps(expected),
    }
    arguments.out.write_bytes(safetensors(stored, told))
    print(f"{arguments.out}: {arguments.out.stat().st_size} bytes, {expected['loss'][0]:.3f} nats on unseen text.")


def _trained(sizes: Sizes, batches: Iterator[Tensor], steps: int) -> dict[str, Tensor]:
    """The weights of a model that has learnt from so many batches, and those of its stand-ins."""
    embedding = VocabEmbedding(sizes.vocab, sizes.hidden, init_std=0.05)
    norms = [
        GroupRMSNorm(sizes.hidden, sizes.head_dim, eps=sizes.eps, init_range=(1.0, 1.0)) for _ in range(sizes.norms)
    ]
    model = LanguageModel(sizes, Slots(embedding, [*norms], NTKAwareRoPE(sizes.head_dim, sizes.trained, sizes.base)))
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, std=0.01 if name.startswith(("out", "back")) else 0.05)
    model.head.weight = embedding.table
    _improve(model, [*model.parameters(), *(norm.gamma for norm in norms)], batches, steps, RATE)

    plain = [nn.LayerNorm(sizes.hidden, sizes.eps) for _ in norms]
    for layer, norm in zip(plain, norms, strict=True):
        layer.weight.data.copy_(norm.gamma)
    model.slots = replace(model.slots, norms=[*plain])
    weights = [weight for layer in plain for weight in layer.parameters()]
    _improve(model, weights, batches, min(STEPS_OF_STAND_INS, steps), RATE_OF_STAND_INS)
    tensors = {name: value for name, value in model.state_dict().items() if name != "head.weight"} | {
        "table": embedding.table,
        "gamma": torch.stack([norm.gamma for norm in norms]),
        "plain.weight": torch.stack([layer.weight for layer in plain]),
        "plain.bias": torch.stack([layer.bias for layer in plain]),
    }
    return {name: tensor.detach() for name, tensor in tensors.items()}


def _batches(prose: Tensor, poems: Tensor, length: int) -> Iterator[Tensor]:
    """Pieces of one of the texts, ``[batch, length + 1]``, without end."""
    while True:
        source = poems if torch.rand(()) < POEMS_SHARE else prose
        starts = torch.randint(len(source) - length - 1, (BATCH, 1))
        yield source[starts + torch.arange(length + 1)]


def _improve(
    model: LanguageModel, weights: Sequence[nn.Parameter], batches: Iterator[Tensor], steps: int, rate: float
) -> None:
    """Improve ``weights``, and tell how far it is."""
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.98), weight_decay=0.0)
    for step, batch in enumerate(islice(batches, steps)):
        optimizer.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / WARM_UP) * (1.02 - step / steps)
        loss = functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"{step + 1:5} of {steps} steps, {time.process_time():4.0f} s: {loss.item():.2f}", flush=True)


def _expected(checkpoint: Checkpoint) -> dict[str, list[float]]:
    """The losses of right layers, as the demo measures them."""
    sizes, tensors, ids = checkpoint.sizes, checkpoint.tensors, checkpoint.ids(checkpoint.unseen)
    right: list[Layer] = []
    for gamma in tensors["gamma"]:
        norm = GroupRMSNorm(sizes.hidden, sizes.head_dim, eps=sizes.eps)
        norm.gamma.data.copy_(gamma)
        right.append(norm)
    rope = NTKAwareRoPE(sizes.head_dim, sizes.trained, sizes.base)
    expected = {}
    plain = stand_ins(checkpoint)
    for kind, norms in (("", right), (", plain norms", plain.norms)):
        model = LanguageModel(sizes, Slots(plain.embed, norms, rope))
        model.load_state_dict({name: tensors.get(name, tensors["table"]) for name in model.state_dict()})
        expected[f"loss{kind}"] = [float(losses(model, windows(ids, sizes.trained, WINDOWS)).mean())]
    return expected


def _positions(sizes: Sizes) -> dict[str, Tensor]:
    """A matrix for position 0, and one for each step from there, in a basis drawn at random.

    Scores of attention are the same in every basis that queries and keys share.
    """
    rope = NTKAwareRoPE(sizes.head_dim, sizes.trained, sizes.base, dtype=torch.float64)
    both = torch.eye(sizes.head_dim, dtype=torch.float64)[:, None, None].expand(-1, 2, -1, -1)
    turn = rope(both)[:, 1, 0]  # each feature at position 1
    basis = torch.linalg.qr(torch.randn(sizes.head_dim, sizes.head_dim, dtype=torch.float64))[0]
    return {"positions.first": basis.float(), "positions.step": (basis.T @ turn @ basis).float()}


def safetensors(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> bytes:
    """A file in the format of https://github.com/huggingface/safetensors; the same input gives the same bytes."""
    dtypes = {torch.float16: "F16", torch.float32: "F32"}
    header: dict[str, object] = {"__metadata__": dict(texts)}
    numbers = b""
    for name, tensor in tensors.items():
        data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": dtypes[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(numbers), len(numbers) + len(data)],
        }
        numbers += data
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text + numbers


if __name__ == "__main__":
    main()
