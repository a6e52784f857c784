"""What failing cases say beside their own faults: the conditions that set them apart from passing ones."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from grader.core.messages import Message, say
from grader.core.results.outcome import ALL, ALSO, APART, NOTHING_LOST, CaseResult, Outcome, is_elsewhere

from .compare import OTHER_DTYPE

TELLING = (Outcome.FAILED, Outcome.CRASHED)  # of which conditions are told
DTYPE_NAMED = re.compile(r"(?:bfloat16|float16|float32)$")

Axis = tuple[str, str]  # a test and a place in its ids; of dtypes, in the ids of all tests: "" and what precedes them
Rest = tuple[str, ...]  # an id without one of its conditions: the test, then the other words


def with_conditions(cases: Sequence[CaseResult]) -> list[CaseResult]:
    """The cases of a property, of which those that failed or crashed say what sets them apart from others."""
    if not any(case.outcome in TELLING for case in cases):
        return list(cases)
    apart, also = _what_sets_apart(cases), _fails_in_float32_too(cases)

    def told(case: CaseResult) -> CaseResult:
        alike = [one for one in cases if _test(one) == _test(case)]
        says = list(apart.get(_test(case), ()))
        if len(alike) > 1 and all(one.outcome in TELLING for one in alike):
            says.append(say(ALL, n=len(alike)))
        if also and any(map(DTYPE_NAMED.search, case.id.split("-")[1:])):
            says.append(ALSO)
        return replace(case, message=case.message.then(*says))

    return [told(case) if case.outcome in TELLING else case for case in cases]


def _test(case: CaseResult) -> str:
    return case.id.partition("-")[0]


def _conditions(case: CaseResult) -> Iterator[tuple[Axis, str, Rest]]:
    """The conditions that an id names, such as a mode, a dtype or ``s=25``; no bare numbers."""
    test, *words = case.id.split("-")
    for place, word in enumerate(() if is_elsewhere(case.id) else words):
        if (dtype := DTYPE_NAMED.search(word)) or word.replace("_", "").isalpha() or "=" in word:
            axis = ("", word[: dtype.start()]) if dtype else (test, str(place))
            yield axis, word, (test, *words[:place], "", *words[place + 1 :])


def _what_sets_apart(cases: Sequence[CaseResult]) -> dict[str, dict[Message, None]]:
    """By test, what its failing cases say, each message once.

    An axis sets cases apart if each of its words has only passing or only failing cases, and if two cases that differ
    in nothing else end differently: several words may change together. Dtypes are told only where no other axis is,
    with which they may go by chance, in the tests that have two such cases.
    """
    ends: dict[Axis, dict[str, set[bool]]] = defaultdict(lambda: defaultdict(set))
    beside: dict[tuple[Axis, Rest], set[bool]] = defaultdict(set)
    for case in cases:
        for axis, word, rest in _conditions(case):
            ends[axis][word].add(case.outcome is Outcome.PASSED)
            beside[axis, rest].add(case.outcome is Outcome.PASSED)
    pairs = [pair for pair, seen in beside.items() if len(seen) == 2]
    deciding, told = {axis for axis, _ in pairs}, defaultdict[str, dict[Message, None]](dict)
    for axis, words in ends.items():
        if axis in deciding and all(len(seen) == 1 for seen in words.values()):
            failing, working = (", ".join(word for word in words if words[word] == {end}) for end in (False, True))
            told[axis[0]][say(APART, failing=failing, working=working)] = None
    of_dtypes = told.pop("", {})
    return told or {test: of_dtypes for axis, (test, *_) in pairs if not axis[0]}


def _fails_in_float32_too(cases: Sequence[CaseResult]) -> bool:
    """Whether the first case that fails, which students read, is in 16 bits, not about dtypes, and float32 fails, too.

    Float32 fails in any case of the same test, or in all cases on the CPU that name it.
    """
    first = next(case for case in cases if case.outcome not in NOTHING_LOST)
    if not {"float16", "bfloat16"} & {*first.id.split("-")} or first.message.fields(OTHER_DTYPE):
        return False
    wide = [case for case in cases if "float32" in case.id.split("-")]
    here = [case.outcome is Outcome.PASSED for case in wide if not is_elsewhere(case.id)]
    of_test = [case.outcome is Outcome.PASSED for case in wide if _test(case) == _test(first)]
    return not all(of_test) or (bool(here) and not any(here))
