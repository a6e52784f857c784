"""``signatures.json``: explanations of known mistakes, each of which only those can read who made the mistake.

The file holds no answer and no readable word. The hash of the values that a mistake gives is the key of its entry; the
right answers are no key of anything. See ``signature.py`` for what is hashed.
"""

import base64
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

Explanation = Mapping[str, str]  # the mistake's name, and what it is in each language
FIELDS = {"salt", "known", "told"}


def place(salt: str, key: bytes) -> str:
    """Under which name an entry with that key is kept."""
    return hashlib.sha256(salt.encode() + b"place" + key).hexdigest()[:12]


def seal(salt: str, key: bytes, value: Any) -> str:
    """A value that only the key opens."""
    return base64.b64encode(_masked(salt, key, json.dumps(value, ensure_ascii=False).encode())).decode()


def unseal(salt: str, key: bytes, text: str) -> Any:
    """What was sealed with that key."""
    return json.loads(_masked(salt, key, base64.b64decode(text)))


def _masked(salt: str, key: bytes, data: bytes) -> bytes:
    mask = hashlib.shake_256(salt.encode() + b"mask" + key).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, mask, strict=True))


def tag(property_id: str) -> str:
    """A short name for a property."""
    return hashlib.sha256(property_id.encode()).hexdigest()[:4]


def explanations(sealed: Mapping[str, Any], keys: Iterable[bytes], failing: Collection[str]) -> list[Explanation]:
    """The mistakes that together explain a property's failures; none if there is any doubt.

    Of several causes with the same signature, those fall away that would make other properties fail as well; of the
    rest, the one that explains most failing properties is named.

    Args:
        sealed: The contents of ``signatures.json``.
        keys: The signatures of the property's failures.
        failing: The ids of all properties that fail.
    """
    salt, known, told = sealed["salt"], sealed["known"], {tag(property_id) for property_id in failing}
    found = [causes_in(unseal(salt, key, known[place(salt, key)])) for key in keys if place(salt, key) in known]
    if not found:
        return []
    shared = set.intersection(*({names for names, _ in causes} for causes in found))
    possible = {(names, also) for causes in found for names, also in causes if names in shared and told >= also}
    most = max((len(also) for _, also in possible), default=0)
    best = {names for names, also in possible if len(also) == most}
    names = [bytes.fromhex(name) for name in best.pop()] if len(best) == 1 else []
    return [unseal(salt, name, sealed["told"][place(salt, name)]) for name in names]


def causes_in(entry: str) -> list[tuple[tuple[str, ...], frozenset[str]]]:
    """The causes that an entry names: the keys of its mistakes' names, and the other properties that would fail."""
    causes = (cause.partition(":") for cause in entry.split("|"))
    return [(tuple(names.split()), frozenset(also.split())) for names, _, also in causes]
