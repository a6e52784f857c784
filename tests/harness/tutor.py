"""Recognises known mistakes by what a student's own code returned in the public tests. Nothing leaves this machine."""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .rubric import ROOT
from .signature import Look, signatures

Explanation = Mapping[str, str]  # the mistake's name, and what it is in each language

# A student's copy, and what `make signatures` writes in the course's own repository.
PLACES = (Path(__file__).with_name("signatures.json"), ROOT / "build" / "signatures" / "signatures.json")
MOST_CAUSES = 2  # more would be no answer


@cache
def _known() -> Any:
    path = next((place for place in PLACES if place.is_file()), None)
    return path and json.loads(path.read_text(encoding="utf-8"))


def required(property_id: str) -> Explanation:
    """What a property asks for."""
    known = _known()
    return known["hints"].get(property_id, {}) if known else {}


def mistakes(property_id: str, looks: Iterable[Look], failing: Collection[str]) -> list[list[Explanation]]:
    """The known mistakes that explain a property's failures; ``failing`` are all properties that fail."""
    known = _known()
    return explanations(known, signatures(property_id, looks), failing) if known else []


def explanations(known: Mapping[str, Any], keys: Iterable[str], failing: Collection[str]) -> list[list[Explanation]]:
    """The mistakes that together explain a property's failures, or two of which either does; none if in more doubt.

    Of several causes with the same signature, those are discarded that would make other properties fail as well; of the
    rest, those are named that explain most failing properties, with the fewest mistakes.

    Args:
        known: The contents of ``signatures.json``. Under ``causes``, each signature has its possible causes: the names
            of the mistakes, and the other properties that they fail. Under ``hints``, each name has its explanation.
        keys: The signatures of the property's failures.
        failing: The ids of all properties that fail.
    """
    found = [
        {(tuple(names), frozenset(also)) for names, also in known["causes"][key]}
        for key in keys
        if key in known["causes"]
    ]
    if not found:
        return []
    shared = set.intersection(*({names for names, _ in causes} for causes in found))
    possible = {(names, also) for causes in found for names, also in causes if names in shared and also <= set(failing)}
    most = max((len(also) for _, also in possible), default=0)
    best = {names for names, also in possible if len(also) == most}
    fewest = min(map(len, best), default=0)  # of one mistake and of two that look like it, it is the one
    best = sorted(names for names in best if len(names) == fewest)
    sure = len(best) == 1 or (len(best) == MOST_CAUSES and fewest == 1)
    return [[{"name": name, **known["hints"][name]} for name in names] for names in best] if sure else []
