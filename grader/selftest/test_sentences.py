"""Every sentence is there in both languages, with the same fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import PACKAGE
from grader.core.messages import Sentences
from grader.core.rubric import LANGUAGES

FILES = sorted(PACKAGE.rglob("words.toml"))


def faulty(texts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The keys of sentences that a language lacks, or has with other fields."""
    return [
        key
        for key, both in texts.items()
        if both.keys() != {*LANGUAGES} or len({frozenset(re.findall(r"{(\w+)", text)) for text in both.values()}) > 1
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_everything_is_said_in_every_language(path: Path) -> None:
    assert Sentences(path).texts
    assert faulty(Sentences(path).texts) == []


def test_another_field_in_one_language_is_found() -> None:
    right, wrong = ({"en": "{n} late", "zh": f"{{{name}}} 份迟交"} for name in "nm")
    assert faulty({"right": right, "wrong": wrong, "half": {"en": "late"}}) == ["wrong", "half"]


def test_a_sentence_is_filled_in_and_a_later_file_overrides_an_earlier_one(tmp_path: Path) -> None:
    paths = [tmp_path / "core.toml", tmp_path / "extra.toml"]
    for path, word in zip(paths, ("late", "overdue"), strict=True):
        path.write_text(f"[late]\nen = '{{n}} {word}'\nzh = '{{n}} 份迟交'\n", encoding="utf-8")
    assert len(FILES) >= 9
    assert Sentences(*paths)("en", "late", n=2) == "2 overdue"
