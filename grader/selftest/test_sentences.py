"""Every table of sentences says everything in both languages, with the same fields."""

from __future__ import annotations

import importlib
import re
from itertools import chain
from pathlib import Path

import pytest

from grader import PACKAGE
from grader.core.rubric import LANGUAGES
from grader.core.sentences import Sentences, say

TABLE = re.compile(r"^(\w+): Final\[(?:sentences\.)?Sentences\]", re.MULTILINE)
FILES = sorted(chain.from_iterable((PACKAGE / name).rglob("*.py") for name in ("core", "extras", "followup")))
TABLES = [(path, name) for path in FILES for name in TABLE.findall(path.read_text(encoding="utf-8"))]


def faulty(table: Sentences) -> list[str]:
    """The keys of sentences that a language lacks, or has with other fields."""
    return [
        key
        for key, texts in table.items()
        if len(texts) != len(LANGUAGES) or len({frozenset(re.findall(r"{(\w+)", text)) for text in texts}) > 1
    ]


@pytest.mark.parametrize(
    ("path", "name"), TABLES, ids=lambda part: part.parent.name if isinstance(part, Path) else part
)
def test_everything_is_said_in_every_language(path: Path, name: str) -> None:
    module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    table: Sentences = getattr(module, name)
    assert table
    assert faulty(table) == []


def test_another_field_in_one_language_is_found() -> None:
    assert faulty({"right": ("{n} late", "{n} 份迟交"), "wrong": ("{n} late", "{m} 份迟交")}) == ["wrong"]


def test_the_tables_are_found_and_a_sentence_is_filled_in() -> None:
    assert len(TABLES) >= 5
    assert say({"late": ("{n} late", "{n} 份迟交")}, "zh", "late", n=2) == "2 份迟交"
