"""Seals the names of known mistakes, and checks that a sealed file holds nothing else."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...rubric import LANGUAGES, Rubric
from .mistakes import Cause, Known

MOST_BYTES: Final = 250_000


@cache
def _sealed(root: Path) -> Any:
    """The module of the public tests that opens the file; it imports nothing of its package."""
    spec = importlib.util.spec_from_file_location("sealed", root / "tests" / "harness" / "sealed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sealed(known: Mapping[str, Known], rubric: Rubric, root: Path) -> tuple[dict[str, Any], list[bytes]]:
    """The contents of ``signatures.json``, and every key that opens something of it.

    A mistake's explanation is opened by a key that nobody can compute who has none of the mistake's signatures.
    """
    tool = _sealed(root)
    salt = hashlib.sha256(rubric.id.encode()).hexdigest()[:16]
    entries: dict[bytes, set[Cause]] = defaultdict(set)  # two mistakes may be alike on one grid, and not on the other
    for keys, causes in (item for found in known.values() for item in found.items()):
        for key in keys:
            entries[key].update(causes)
    of_name: dict[str, list[bytes]] = defaultdict(list)
    for key, several in sorted(entries.items()):
        for name in {name for cause in several for name in cause.names}:
            of_name[name].append(key)
    key_of = {
        name: hashlib.sha256(name.encode() + b"".join(keys)).digest()[:6] for name, keys in sorted(of_name.items())
    }
    told = {
        tool.place(salt, key): tool.seal(salt, key, {"name": name, **_hint(rubric, name)})
        for name, key in key_of.items()
    }

    def listed(causes: Collection[Cause]) -> str:
        each = {
            f"{' '.join(sorted(key_of[name].hex() for name in cause.names))}:"
            f"{' '.join(sorted(map(tool.tag, cause.also)))}"
            for cause in causes
        }
        return "|".join(sorted(each))

    opened = {tool.place(salt, key): tool.seal(salt, key, listed(causes)) for key, causes in entries.items()}
    whole = {"salt": salt, "known": dict(sorted(opened.items())), "told": dict(sorted(told.items()))}
    return whole, sorted([*entries, *key_of.values()])


def _hint(rubric: Rubric, name: str) -> dict[str, str]:
    return {language: rubric.misconception(name).hint[language] for language in LANGUAGES}


def more_than_mistakes(data: bytes, keys: Collection[bytes], rubric: Rubric, root: Path) -> Iterator[str]:
    """What a sealed file holds beside explanations of the rubric's misconceptions, in words.

    Args:
        data: The file.
        keys: Every key that opens something of it; an entry that none of them opens is more.
        rubric: Has the explanations.
        root: The repository.
    """
    try:
        whole = json.loads(data)
        salt, known, told = (whole[field] for field in ("salt", "known", "told"))
        entries = [*known.items(), *told.items()]
        if len(whole) != 3 or not re.fullmatch("[0-9a-f]{16}", salt) or not all(map(_is_entry, entries)):
            yield "is not made of sealed entries alone"
            return
    except (ValueError, TypeError, KeyError, AttributeError):
        yield "is not made of sealed entries alone"
        return
    if len(data) > MOST_BYTES:
        yield f"is larger than {MOST_BYTES} bytes"
    tool = _sealed(root)
    key_at = {tool.place(salt, key): key for key in keys}
    tags = set(map(tool.tag, rubric.properties))
    explained = [{"name": mistake.id, **_hint(rubric, mistake.id)} for mistake in rubric.misconceptions]
    for place, text in entries:
        try:
            opened = tool.unseal(salt, key_at[place], text)
            named = place in known and all(
                also <= tags and all(tool.place(salt, bytes.fromhex(name)) in told for name in names)
                for names, also in tool.causes_in(opened)
            )
        except (KeyError, ValueError, TypeError, AttributeError):
            opened, named = None, False
        if not named and opened not in explained:
            yield f"{place} holds something else than the explanation of a known mistake"


def _is_entry(entry: tuple[object, object]) -> bool:
    place, text = entry
    return bool(re.fullmatch("[0-9a-f]{12}", str(place)) and isinstance(text, str))
