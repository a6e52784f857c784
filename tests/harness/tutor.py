"""Recognises known mistakes by what a student's own code returned in the public tests. Nothing leaves this machine."""

import json
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from .rubric import ROOT, TESTS
from .sealed import Explanation, explanations
from .signature import Look, signatures

# A student's copy, and what `make signatures` writes in the course's own repository.
PLACES = (TESTS / "signatures.json", ROOT / "build" / "signatures" / "signatures.json")


@cache
def _sealed() -> Any:
    path = next((place for place in PLACES if place.is_file()), None)
    return path and json.loads(path.read_text(encoding="utf-8"))


def mistakes(property_id: str, looks: Iterable[Look], failing: Collection[str]) -> list[Explanation]:
    """The known mistakes that explain a property's failures; ``failing`` are all properties that fail."""
    sealed = _sealed()
    return explanations(sealed, signatures(property_id, looks), failing) if sealed else []
