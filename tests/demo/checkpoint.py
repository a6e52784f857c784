"""The weights of the model, in the format of https://github.com/huggingface/safetensors, which is quickly read.

A file begins with the length of its header (8 bytes), then comes the header (JSON: name, dtype, shape and place of each
tensor, and a table of texts), then all numbers, one tensor after the other.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .model import Sizes

FILE = Path(__file__).with_name("model.safetensors")
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
