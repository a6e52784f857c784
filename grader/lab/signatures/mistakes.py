"""Known mistakes and their traces in the public tests, alone and in pairs; the contents of ``signatures.json``."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

from grader.core.assignment import Assignment
from grader.core.rubric import LANGUAGES, Rubric
from grader.specimens.variants import Variant, variants_of

Names = frozenset[str]  # ids of the rubric's misconceptions
Signatures = tuple[str, ...]  # of one property's failures
Mistake = Variant | tuple[Any, ...]  # a submission, or the slips that make one
Trial = tuple[Mistake, Collection[str]]  # and the properties whose public tests it is tried with
Trying = Callable[[str, Sequence[Trial]], Sequence[Mapping[str, Signatures]]]  # a title, trials; signatures of each


@dataclass(frozen=True)
class Cause:
    """A possible cause of a property's failures.

    Attributes:
        names: What it is called in the rubric; empty where that has no name for it.
        also: The other properties whose public tests it fails.
    """

    names: Names
    also: frozenset[str]


Known = Mapping[Signatures, Collection[Cause]]


@dataclass(frozen=True)
class _Seen:
    """A mistake, the signatures of properties whose public tests it fails, and all properties that it fails."""

    names: Names
    signatures: Mapping[str, Signatures]
    fails: frozenset[str]


def known(assignment: Assignment, trying: Trying, pairs: bool = True) -> dict[str, Known]:
    """By property: the signatures of named mistakes, and of their ``pairs``, with all causes that have the same one."""
    found: dict[str, dict[Signatures, set[Cause]]] = defaultdict(lambda: defaultdict(set))
    for seen in _all(assignment, trying, pairs):
        for property_id, signatures in seen.signatures.items():
            # Of its names those that belong to the property; if none does, all.
            fitting = {name for name in seen.names if property_id in assignment.rubric.misconception(name).properties}
            found[property_id][signatures].add(Cause(frozenset(fitting) or seen.names, seen.fails - {property_id}))
    return {
        property_id: {
            signatures: causes for signatures, causes in entries.items() if any(cause.names for cause in causes)
        }
        for property_id, entries in found.items()
    }


def written(known: Mapping[str, Known], rubric: Rubric) -> str:
    """``signatures.json``: for each signature its possible causes; the hints of each mistake and of each property."""
    causes: dict[str, set[tuple[tuple[str, ...], tuple[str, ...]]]] = defaultdict(set)  # two mistakes may share a grid
    for keys, several in (item for found in known.values() for item in found.items()):
        for key in keys:
            causes[key].update((tuple(sorted(cause.names)), tuple(sorted(cause.also))) for cause in several)
    named = {name for several in causes.values() for names, _ in several for name in names} | {*rubric.properties}
    return _json(
        {
            "causes": {key: sorted(several) for key, several in sorted(causes.items())},
            "hints": {name: _hints(rubric, name) for name in sorted(named)},
        }
    )


def more_than_mistakes(data: bytes, rubric: Rubric) -> Iterator[str]:
    """What ``signatures.json`` holds beside signatures, and ids and hints of the rubric, in words."""
    ids = (*(mistake.id for mistake in rubric.misconceptions), *rubric.properties)
    known = {name: _hints(rubric, name) for name in ids}
    try:
        whole = json.loads(data)
        causes, hints = whole["causes"], whole["hints"]
        if len(whole) != 2 or _json(whole).encode() != data:
            yield "contains more than signatures and hints"
        for key, several in causes.items():
            for names, also in several:
                if (
                    not re.fullmatch("[0-9a-f]{12}", key)
                    or not {*names} <= hints.keys()
                    or {*also} - {*rubric.properties}
                ):
                    yield f"{key} is not the signature of a known mistake"
        for name in hints:
            if name not in known:
                yield f"{name} is not in the rubric. If it was renamed or deleted, run `make signatures`"
            elif hints[name] != known[name]:
                yield f"the hints of {name} differ from those of the rubric. If they were edited, run `make signatures`"
    except (ValueError, TypeError, KeyError, AttributeError):
        yield "is not made of signatures and hints"


def _hints(rubric: Rubric, name: str) -> dict[str, str]:
    hint = (rubric.properties.get(name) or rubric.misconception(name)).hint
    return {language: hint[language] for language in LANGUAGES}


def _json(whole: Mapping[str, Any]) -> str:
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _all(assignment: Assignment, trying: Trying, pairs: bool) -> Iterator[_Seen]:
    corpus: Any = assignment.part("corpus.variants")
    of_piece = {name: [prop.id for prop in task.properties] for task in assignment.rubric.tasks for name in task.names}
    families = corpus.slip_families() if hasattr(corpus, "slip_families") else ()
    slips = [slip for family in families for slip in family]
    single = [*(corpus.submission([slip]) for slip in slips), *(v for v in variants_of(assignment) if not v.valid)]
    found = trying("mistakes", [(variant, of_piece[variant.piece]) for variant in single])
    seen = [_Seen(variant.hints, of, frozenset(of)) for variant, of in zip(single, found, strict=True)]
    yield from seen
    if pairs and slips:
        yield from _pairs(families, dict(zip(slips, seen, strict=False)), trying)


def _pairs(families: Iterable[Iterable[Any]], alone: Mapping[Any, _Seen], trying: Trying) -> Iterator[_Seen]:
    """Each pair of slips that touches no step twice.

    Only those properties are tried whose tests both fail alone: of others, a pair shows what one of the two does.
    """
    trials = [
        (pair, shared)
        for pair in chain.from_iterable(combinations(family, 2) for family in families)
        if (shared := alone[pair[0]].fails & alone[pair[1]].fails) and not pair[0].steps.keys() & pair[1].steps.keys()
    ]
    for ((first, second), _), together in zip(trials, trying("pairs of mistakes", trials), strict=True):
        one, other = alone[first], alone[second]
        new = {
            name: signatures
            for name, signatures in together.items()
            if signatures not in (one.signatures[name], other.signatures[name])
        }
        names = one.names | other.names if one.names and other.names else frozenset()
        yield _Seen(names, new, one.fails | other.fails)
