"""Tables of sentences, each in English and Chinese: one shape for all, and one function that fills them in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .rubric import LANGUAGES

Sentences = Mapping[str, tuple[str, str]]  # by key, in the order of LANGUAGES


def say(table: Sentences, language: str, key: str, /, **fields: object) -> str:
    """The sentence ``key`` of a table in a language, with its fields filled in."""
    return table[key][LANGUAGES.index(language)].format(**fields)


class FromFiles:
    """:func:`say` for the tables in TOML files, which are read when the first sentence is needed."""

    def __init__(self, *paths: Path) -> None:
        """A later file overrides the sentences of an earlier one."""
        self.paths = paths

    def __call__(self, language: str, key: str, /, **fields: object) -> str:
        """The sentence ``key`` in a language, with its fields filled in."""
        return say(read(*self.paths), language, key, **fields)


@cache
def read(*paths: Path) -> Sentences:
    """The tables in TOML files as one: ``[key]`` with ``en`` and ``zh``."""
    tables = {key: texts for path in paths for key, texts in tomllib.loads(path.read_text(encoding="utf-8")).items()}
    return {key: (texts["en"], texts["zh"]) for key, texts in tables.items()}
