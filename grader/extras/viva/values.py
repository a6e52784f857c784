"""What a call gives or a line holds, as a text that a student can compare with others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
MOST_TEXT = 160  # characters of an option
MOST_FRACTIONS = 2  # different numbers that two digits after the point do not write
CLOSE, APART = 1e-6, 1e-2  # relative to the largest number: the same up to rounding; different to a reader


@dataclass(frozen=True)
class Value:
    """What running gave.

    Attributes:
        raw: Dtype and numbers or sizes of a tensor, ``raises`` and the class of an exception, the ``repr`` of all else,
            or several of them with semicolons.
    """

    raw: str

    @cached_property
    def text(self) -> str:
        """As options show it: with three digits."""
        return re.sub(NUMBER, _rounded, self.raw)

    @cached_property
    def form(self) -> str:
        """The text without its numbers and words; the same for any count of like parts."""
        parts = re.sub(r"[A-Za-z_][\w.]*", "w", re.sub(NUMBER, "#", self.text)).split("; ")
        return "; ".join(dict.fromkeys(parts))

    @cached_property
    def is_readable(self) -> bool:
        """Whether a person could have computed it: no long, very large or very small numbers, and no random ones."""
        fractions = {part.lstrip("-") for part in re.findall(r"-?\d+\.\d{3,}", self.text)}
        is_short = len(self.text) <= MOST_TEXT and len(fractions) <= MOST_FRACTIONS
        return is_short and not re.search(r"\b(?:nan|inf)\b|\de[-+]|\d{6}", self.text)

    def same(self, other: Value) -> bool | None:
        """Whether it is the same as another; None where a person could not tell."""
        if re.sub(NUMBER, "#", self.raw) != re.sub(NUMBER, "#", other.raw):
            return False
        own, its = ([float(number) for number in re.findall(NUMBER, value)] for value in (self.raw, other.raw))
        largest = max(map(abs, [*own, *its, 1e-30]))
        gap = max((abs(a - b) for a, b in zip(own, its, strict=True)), default=0.0) / largest
        return True if gap <= CLOSE else False if gap >= APART and self.text != other.text else None


def _rounded(number: re.Match[str]) -> str:
    return number[0] if number[0].lstrip("-").isdecimal() else str(float(f"{float(number[0]):.3g}") + 0.0)
