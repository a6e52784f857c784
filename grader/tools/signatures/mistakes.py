"""Known mistakes, and what the public tests see of them: alone, and in pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...definition import Assignment
from .public_tests import PublicTests

Names = frozenset[str]  # ids of the rubric's misconceptions
Known = dict[tuple[bytes, ...], Names]  # from the signatures of a property's failures to the mistakes behind them


@dataclass(frozen=True)
class Seen:
    """A mistake, and the signatures of every property whose public tests it fails.

    Attributes:
        names: What it is called in the rubric; empty where that has no name for it.
    """

    names: Names
    signatures: Mapping[str, tuple[bytes, ...]]


def known(assignment: Assignment, tests: PublicTests) -> dict[str, Known]:
    """By property: the signatures that name their mistakes without doubt.

    A signature that mistakes of several names share, or one without a name, names nothing.
    """
    found: dict[str, dict[tuple[bytes, ...], set[Names]]] = defaultdict(lambda: defaultdict(set))
    for seen in _all(assignment, tests):
        for property_id, signatures in seen.signatures.items():
            if signatures:
                found[property_id][signatures].add(_named(seen.names, property_id, assignment))
    return {
        property_id: {signatures: names for signatures, all_names in entries.items() if (names := _least(all_names))}
        for property_id, entries in found.items()
    }


def _named(names: Names, property_id: str, assignment: Assignment) -> Names:
    """Of a mistake's names those that belong to the property; if none does, all."""
    own = {name for name in names if property_id in assignment.rubric.misconception(name).properties}
    return frozenset(own) or names


def _least(found: set[Names]) -> Names:
    """The one explanation that is a part of all others: one mistake rather than that and another, invisible one."""
    least = min(found, key=lambda names: (len(names), sorted(names)))
    return least if all(least <= names for names in found) else frozenset()


def _all(assignment: Assignment, tests: PublicTests) -> Iterator[Seen]:
    variants: Any = assignment.part("variants")
    for variant in variants.all_variants():
        if not variant.valid:
            yield Seen(variant.hints, tests.signatures(variant.files))
    if hasattr(variants, "slip_families"):
        for family in variants.slip_families():
            yield from _slips(variants, family, tests)


def _slips(variants: Any, family: Iterable[Any], tests: PublicTests) -> Iterator[Seen]:
    """Each slip alone, and each pair that touches no step twice; a pair only where both fail tests of one property."""
    alone = {slip: tests.signatures(variants.submission([slip])) for slip in family}
    yield from (Seen(slip.hints, signatures) for slip, signatures in alone.items())
    for first, second in combinations(alone, 2):
        shared = alone[first].keys() & alone[second].keys()
        if shared and not first.steps.keys() & second.steps.keys():
            names = first.hints | second.hints if first.hints and second.hints else frozenset()
            yield Seen(names, tests.signatures(variants.submission([first, second]), shared))
