"""Tells at a glance whether dictionaries, lists and sets are as they were, by the memory that they lie in.

To ask Python for a length or a value counts references, which writes on the objects' pages, and a forked process then
copies each of these pages. Reading their memory writes nothing. Where an interpreter lays objects out otherwise than
CPython 3.11 to 3.13 does, nothing is seen at a glance.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch

WORD = 8  # bytes
LENGTH = {dict: 2 * WORD, list: 2 * WORD, set: 3 * WORD}  # where an object says how many elements it has
TABLE = 4 * WORD  # where a dictionary says at which address its keys and values are
COUNTERS = 2 * WORD  # at the beginning of that table: they may change although its keys and values do not


def dictionary(space: Mapping[str, Any]) -> dict[str, Any]:
    """The dictionary itself, where ``vars()`` gives a view of it, as for a class."""
    return space if isinstance(space, dict) else gc.get_referents(space)[0]


class Glance:
    """What collections looked like when this was made. The caller keeps them alive, and all that they hold.

    Args:
        sized: Collections of which the lengths are watched.
        whole: Dictionaries of which the keys and values are watched, by identity.

    Attributes:
        is_possible: Whether lengths and values were found where they are expected; if not, a glance shows nothing.
    """

    def __init__(self, sized: Sequence[Collection[Any]], whole: Iterable[Mapping[str, Any]]) -> None:
        """Remember their memory."""
        kinds = [(each, next(kind for kind in LENGTH if isinstance(each, kind))) for each in sized]
        dictionaries = list(map(dictionary, whole))
        lengths = [id(each) + LENGTH[kind] for each, kind in kinds]
        addresses = torch.tensor([*lengths, *(id(each) + TABLE for each in dictionaries)])
        start = int(addresses.min())
        memory = (ctypes.c_char * (int(addresses.max()) + WORD - start)).from_address(start)
        self._memory, self._places = torch.frombuffer(memory, dtype=torch.int64), (addresses - start) // WORD
        self._words = self._memory.take(self._places)
        found, tables = self._words[: len(kinds)].tolist(), self._words[len(kinds) :].tolist()
        sizes = [sys.getsizeof(each) - sys.getsizeof({}) - COUNTERS for each in dictionaries]
        self._tables = [(address + COUNTERS, size) for address, size in zip(tables, sizes, strict=True)]
        self._contents = self._seen()
        self.is_possible = found == [len(each) for each in sized] and all(
            set(map(id, each.values())) <= set(memoryview(contents).cast("P"))
            for each, contents in zip(dictionaries, self._contents, strict=True)
        )

    def shows_no_change(self) -> bool:
        """Whether everything is as it was, as far as this can be seen: if not, only a closer look can tell."""
        # The words tell whether the tables are still at the same addresses.
        same = self.is_possible and torch.equal(self._memory.take(self._places), self._words)
        return same and self._seen() == self._contents

    def _seen(self) -> list[bytes]:
        return [ctypes.string_at(address, size) for address, size in self._tables]
