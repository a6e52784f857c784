"""What the failures of a property look like, as a hash: two solutions with the same mistake give the same.

It is made of the student's own values, rounded coarsely: those that failing tests received. No expected value is in it.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from .compare import MismatchError

UNIT = 2.0**-5  # values are rounded to multiples of this, far more coarsely than correct formulas differ
SHIFTS = (0.25, 0.75)  # of a unit: a value near a border of the one grid is in the middle of a cell of the other
MOST_VALUES = 4096
KEY_LENGTH = 12  # of a signature, in hexadecimal digits
ELSEWHERE = re.compile(r"cuda|simulated")  # in the ids of cases that not every machine has
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")  # in messages; other numbers there are sizes, which tell errors apart
SHAPE = re.compile(r"\[[\d, ]*\]")  # in a listing of tensors, beside names, which are everybody's own


@dataclass(frozen=True)
class Look:
    """How one test failed.

    Attributes:
        test: Name and case.
        kind: What failed, without any value.
        received: The values, if values failed.
    """

    test: str
    kind: tuple[str, ...]
    received: Tensor | None = None

    def rounded(self, shift: float) -> list[object]:
        """All of it as JSON, with values as numbers of cells of the grid."""
        values = None if self.received is None else _cells(self.received, shift)
        return [self.test, *self.kind, values]


def look_of(nodeid: str, error: BaseException) -> Look | None:
    """How a test failed; None for a case that not every machine has."""
    test = nodeid.rpartition("::")[2]
    if ELSEWHERE.search(test):
        return None
    if not isinstance(error, MismatchError):
        return Look(test, (type(error).__name__, ADDRESS.sub("#", str(error))[:200]))
    if error.received is None:
        told = [
            f"{fields.get('received', '')}{SHAPE.findall(str(fields.get('found', '')))}" for _, fields in error.parts
        ]
        return Look(test, (*(key for key, _ in error.parts), *told))
    dtype = str(error.received.dtype).removeprefix("torch.")
    kind = (dtype, str(list(error.received.shape)), *(["changed"] if error.parts[0][0] == "changed" else []))
    return Look(test, kind, error.received)


def coarseness(test: str) -> int:
    """How coarse the values of a case are, by its dtypes: 16-bit rounding may move a value to another cell."""
    return 2 if "bfloat16" in test else 1 if "float16" in test else 0


def signatures(property_id: str, looks: Iterable[Look]) -> list[str]:
    """The failures of one property as a hash, once for each grid; nothing if there are none.

    Where several cases fail, only those of the finest dtypes are looked at.
    """
    found = sorted(looks, key=lambda look: look.test)
    if not found:
        return []
    finest = min(coarseness(look.test) for look in found)
    telling = [look for look in found if coarseness(look.test) == finest]
    written = (json.dumps([property_id, shift, *(look.rounded(shift) for look in telling)]) for shift in SHIFTS)
    return [hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH] for text in written]


def _cells(tensor: Tensor, shift: float) -> list[int | str]:
    values = tensor.double().flatten()[:MOST_VALUES] / UNIT + shift
    finite = torch.where(values.isfinite(), values, 0).clamp(-(2.0**52), 2.0**52).floor().long().tolist()
    return [cell if cell_is else str(value) for cell, cell_is, value in _beside(finite, values)]


def _beside(cells: list[int], values: Tensor) -> Iterable[tuple[int, bool, float]]:
    return zip(cells, values.isfinite().tolist(), values.tolist(), strict=True)
