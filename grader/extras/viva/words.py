"""The sentences of questions, pages and sheets, in the languages of the rubric: the file ``words.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


def say(language: str, key: str, **fields: object) -> str:
    """The sentence ``key`` in a language, with its fields filled in."""
    return _words()[key][language].format(**fields)


@cache
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
