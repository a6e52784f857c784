"""Sentences in English and Chinese, from the file ``words.toml`` beside the code of a feature."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path


class Sentences:
    """Fills in sentences from TOML files, ``[key]`` with ``en`` and ``zh``; they are read when the first is needed."""

    def __init__(self, *paths: Path) -> None:
        """A later file overrides the sentences of an earlier one."""
        self.paths = paths

    def __call__(self, language: str, key: str, /, **fields: object) -> str:
        """The sentence ``key`` in a language, with its fields filled in."""
        return self.texts[key][language].format(**fields)

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, str]]:
        """All sentences, by key and language."""
        return {key: texts for path in self.paths for key, texts in tomllib.loads(path.read_text("utf-8")).items()}
