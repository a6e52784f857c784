"""Which failure is explained first and what is asked about it, and which known mistake it is.

A mistake is recognised by what the student's own code returned in the public tests: by a hash of these values, rounded
coarsely, that two solutions with the same mistake share. No expected value is in it, and nothing leaves this machine.
"""

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from .compare import MismatchError
from .raised import kind_of
from .rubric import ROOT, Property
from .terminal import Words, table

# Kinds of failure whose message says all that there is to say.
CLEAR = frozenset({"endless", "names", "python", "nothing_returned", "not_a_tensor"})

ABOUT_DEFAULTS: Words = table("questions")["defaults"]

# What comes first, since it makes other tests fail as well: no result, then changed inputs, then shapes and dtypes.
# What a test itself cannot work with comes last: another test says more exactly what is wrong.
ORDER = (
    (
        *("names", "python", "none", "error", "ambiguous", "refused", "devices", "devices_plain", "in_place"),
        *("endless", "nothing_returned", "not_a_tensor"),
    ),
    ("not_reset", "changed", "modes_differ"),
    ("shape", "dtype", "device", "parameters", "frozen"),
    ("no_parameter_of",),
)


def asked_of(kind: str) -> Words | None:
    """The question about failures of a kind; None where a test or its property has a better one."""
    return table("questions").get("parameters" if kind in ("no_parameter_of", "buffers") else kind)


def rank(kind: str) -> int:
    """How early a failure of that kind is explained; 0 is first."""
    last = len(ORDER) + (kind == "unusable")
    return next((place for place, kinds in enumerate(ORDER) if kind in kinds), last)


def question_for(item: pytest.Item, error: BaseException, prop: Property) -> Words | None:
    """The question that a failing test asks; None where the message is enough.

    A test may give one itself: ``@pytest.mark.hint("too_large", en="...", zh="...")`` for failures of some kinds, or
    without a kind for all that are about values.
    """
    kind = kind_of(error)
    if kind in CLEAR:
        return None
    marks = list(item.iter_markers("hint"))
    marked = next((mark.kwargs for mark in marks if kind in mark.args), None)
    general = next((mark.kwargs for mark in marks if not mark.args), prop.question)
    return marked or asked_of(kind) or general


UNIT = 2.0**-5  # values are rounded to multiples of this, far more coarsely than correct formulas differ
SHIFTS = (0.25, 0.75)  # of a unit: a value near a border of the one grid is in the middle of a cell of the other
MOST_VALUES = 4096
MOST = 2.0**52  # the number of a cell
KEY_LENGTH = 12  # of a signature, in hexadecimal digits
ELSEWHERE = re.compile(r"cuda|simulated")  # in the ids of cases that not every machine has
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")  # in messages; other numbers there are sizes, which tell errors apart
SHAPE = re.compile(r"\[[\d, ]*\]")  # in a listing of tensors, beside names, which are everybody's own


@dataclass(frozen=True)
class Look:
    """How one test failed.

    Attributes:
        test: Name and case.
        kind: What failed, without any value.
        received: The values, if values failed.
    """

    test: str
    kind: tuple[str, ...]
    received: Tensor | None = None

    def rounded(self, shift: float) -> list[object]:
        """All of it as JSON, with values as numbers of cells of the grid."""
        if self.received is None:
            return [self.test, *self.kind, None]
        values = (self.received.double().flatten()[:MOST_VALUES] / UNIT + shift).tolist()
        cells = [math.floor(max(-MOST, min(one, MOST))) if math.isfinite(one) else str(one) for one in values]
        return [self.test, *self.kind, cells]


def look_of(nodeid: str, error: BaseException) -> Look | None:
    """How a test failed; None for a case that not every machine has."""
    test = nodeid.rpartition("::")[2]
    if ELSEWHERE.search(test):
        return None
    if not isinstance(error, MismatchError):
        return Look(test, (type(error).__name__, ADDRESS.sub("#", str(error))[:200]))
    if error.received is None:
        told = [
            f"{fields.get('received', '')}{SHAPE.findall(str(fields.get('found', '')))}" for _, fields in error.parts
        ]
        return Look(test, (*(key for key, _ in error.parts), *told))
    dtype = str(error.received.dtype).removeprefix("torch.")
    # Which of a test's comparisons failed: they are told by what they are about.
    step = [
        f"{key}{fields.get('what', {}).get('en', '')}" for key, fields in error.parts if key in ("about", "changed")
    ]
    return Look(test, (dtype, str(list(error.received.shape)), *step), error.received)


def coarseness(test: str) -> int:
    """How coarse the values of a case are, by its dtypes: 16-bit rounding may move a value to another cell."""
    return 2 if "bfloat16" in test else 1 if "float16" in test else 0


def signatures(property_id: str, looks: Iterable[Look]) -> list[str]:
    """The failures of one property as a hash, once for each grid; nothing if there are none.

    Where several cases fail, only those of the finest dtypes are looked at.
    """
    found = sorted(looks, key=lambda look: look.test)
    if not found:
        return []
    finest = min(coarseness(look.test) for look in found)
    telling = [look for look in found if coarseness(look.test) == finest]
    written = (json.dumps([property_id, shift, *(look.rounded(shift) for look in telling)]) for shift in SHIFTS)
    return [hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH] for text in written]


Explanation = Mapping[str, str]  # the mistake's name, and what it is in each language

# A student's copy, and what `make signatures` writes in the course's own repository.
PLACES = (Path(__file__).with_name("signatures.json"), ROOT / "build" / "signatures" / "signatures.json")
MOST_CAUSES = 2  # more would be no answer


@cache
def _known() -> Any:
    path = next((place for place in PLACES if place.is_file()), None)
    return json.loads(path.read_text(encoding="utf-8")) if path else {"causes": {}, "hints": {}}


def required(property_id: str) -> Explanation:
    """What a property asks for."""
    return _known()["hints"].get(property_id, {})


def mistakes(property_id: str, looks: Iterable[Look], failing: Collection[str]) -> list[list[Explanation]]:
    """The known mistakes that explain a property's failures; ``failing`` are all properties that fail."""
    return explanations(_known(), signatures(property_id, looks), failing)


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
    causes_of = known["causes"]
    found = [{(tuple(names), frozenset(also)) for names, also in causes_of[key]} for key in keys if key in causes_of]
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
