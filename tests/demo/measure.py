"""Lets a model go on from a text, and measures how well it predicts a text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from .model import LanguageModel

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
