"""Tables of sentences, each in English and Chinese: one shape for all, and one function that fills them in."""

from __future__ import annotations

from collections.abc import Mapping

from .rubric import LANGUAGES

Sentences = Mapping[str, tuple[str, str]]  # by key, in the order of LANGUAGES


def say(table: Sentences, language: str, key: str, /, **fields: object) -> str:
    """The sentence ``key`` of a table in a language, with its fields filled in."""
    return table[key][LANGUAGES.index(language)].format(**fields)
