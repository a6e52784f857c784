"""The sentences of ``words.toml``, which the tests say to a student in English or Chinese."""

import locale
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, Language] = ("en", "zh")
Words = Mapping[Language, str]  # a field of a sentence that has a word for each language

Sentences = Mapping[str, Sequence[str]]  # by key, in each of the languages

_WORDS = {"input": "输入", "none": "无"}  # translations of words that tests use as fields


@cache
def table(name: str) -> Mapping[str, Any]:
    """A table of ``words.toml``."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))[name]


def say(language: Language, key: str, sentences: Sentences | None = None, **fields: object) -> str:
    """Return a sentence in ``language``, with its ``fields`` filled in; a field may be ``Words``, or a tuple to list.

    Chinese is written without spaces, so those that meet no other script around a field are left out.
    """
    filled = {name: _word(language, field) for name, field in fields.items()}
    told = (sentences or table("sentences"))[key][LANGUAGES.index(language)].format(**filled)
    return re.sub(r"(?<=[\u3000-\uff60]) (?=[\u3000-\uff60])", "", told) if language == "zh" else told


def _word(language: Language, field: object) -> object:
    if isinstance(field, Mapping):
        return field[language]
    if isinstance(field, tuple):
        return ("、" if language == "zh" else ", ").join(map(str, field))
    return _WORDS.get(field, field) if language == "zh" and isinstance(field, str) else field


def language_of(environ: Mapping[str, str] = os.environ) -> Language:
    """Choose the language of the locale; where the environment is silent (Windows), ask the system."""
    chosen = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), None)
    chosen = chosen or locale.getlocale()[0] or ""
    return "zh" if chosen.lower().startswith(("zh", "chinese")) else "en"
