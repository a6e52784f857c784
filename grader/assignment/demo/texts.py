"""The texts that the model is trained on: two files of Debian packages, whose authors died centuries ago."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

POEMS = Path("/usr/share/games/fortunes/tang300")  # of fortunes-zh 2.98
PROSE = Path("/usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt")  # of golang-1.19-src 1.19.8-2
UNSEEN = 12  # of so many paragraphs, one is kept from training
KNOWN = re.compile(r"[A-Za-z0-9 ,.;:'()?\-]{120,}")  # a paragraph of words, not of formulas and captions


@dataclass(frozen=True)
class Texts:
    """What training reads.

    Attributes:
        prose: Paragraphs, a line each.
        poems: With an empty line between two of them.
        unseen: Further paragraphs of the prose, not for training.
    """

    prose: str
    poems: str
    unseen: str

    @property
    def characters(self) -> str:
        """Every character, an even number of them, in the order of their ids.

        Latin letters are in the middle, the most frequent ones in the very middle; the others are outside, with the
        most frequent ones at both ends. So what a shard does at its first and its last id can be read in any text.
        """
        counts = Counter(self.prose + self.poems + self.unseen)
        others = sorted((mark for mark in counts if not mark.isascii()), key=lambda mark: (-counts[mark], mark))
        latin = sorted((mark for mark in counts if mark.isascii()), key=lambda mark: (counts[mark], mark))
        if len(counts) % 2:
            latin.insert(0, "_")  # stands in no text
        return "".join((*others[::2], *latin[::2], *reversed(latin[1::2]), *reversed(others[1::2])))


def read(poems: Path = POEMS, prose: Path = PROSE) -> Texts:
    """Read both files."""
    paragraphs = [" ".join(part.split()).replace("_", "") for part in re.split(r"\n\s*\n", prose.read_text("utf-8"))]
    known = [paragraph for paragraph in paragraphs if KNOWN.fullmatch(paragraph)]
    seen = [paragraph for place, paragraph in enumerate(known) if (place + 1) % UNSEEN]
    return Texts("\n".join(seen), "\n\n".join(_poems(poems.read_text("utf-8"))), "\n".join(known[UNSEEN - 1 :: UNSEEN]))


def _poems(text: str) -> list[str]:
    """The poems without their coloured titles and authors."""
    bodies = ("\n".join(line.strip() for line in poem.splitlines() if line.strip() and "\x1b" not in line)
              for poem in text.split("\n%\n"))  # fmt: skip
    return [body for body in bodies if body and "%" not in body]
