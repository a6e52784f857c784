"""``signatures.json``: explanations of known mistakes, each of which only those can read who made the mistake.

The file holds no answer and no readable word. The hash of the values that a mistake gives is the key of its entry; the
right answers are no key of anything. See ``signature.py`` for what is hashed.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
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


def explanations(sealed: Mapping[str, Any], keys: Iterable[bytes]) -> list[Explanation]:
    """The mistakes that together explain a property's failures; none if its signatures are unknown.

    Args:
        sealed: The contents of ``signatures.json``.
        keys: The signatures of one property's failures.
    """
    salt, known = sealed["salt"], sealed["known"]
    for key in keys:
        if (entry := known.get(place(salt, key))) is not None:
            names = [bytes.fromhex(name) for name in unseal(salt, key, entry)]
            return [unseal(salt, name, sealed["told"][place(salt, name)]) for name in names]
    return []
