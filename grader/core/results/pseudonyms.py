"""Names that say nothing: the same one for the same submission, which nobody can guess without the key of the class.

The key lies beside the reports, so that a name stays the same through regrades, and an assistant can look up whose it
is. A digest of the id alone would not do: whoever has the list of the class could compute it for everyone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from .report import Record, first_problem, write_text

FILE = "pseudonyms.json"
LENGTH = 8  # characters of five bits each: two of a thousand students share a name once in two million classes
PREFIX = "anon-"


class PseudonymError(Exception):
    """The key cannot be used; the message is one line that says why, and what to do."""


class _Kept(Record):
    """What the file holds."""

    key: str = Field(pattern="[0-9a-f]{64}")


def pseudonyms(folder: Path, submissions: Iterable[str]) -> dict[str, str]:
    """From the id of a submission to its pseudonym; the key is made if there is none.

    Raises:
        PseudonymError: If the key is damaged.
        OSError: If it cannot be read or written.
    """
    key = _key(folder)
    return {own: _pseudonym(key, own) for own in submissions}


def known(folder: Path, submissions: Iterable[str]) -> dict[str, str]:
    """The pseudonyms as :func:`pseudonyms` gives them; empty, and no key is made, if the folder has none yet."""
    return pseudonyms(folder, submissions) if (folder / FILE).exists() else {}


def _pseudonym(key: bytes, submission: str) -> str:
    digest = hmac.new(key, submission.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return PREFIX + base64.b32encode(digest).decode().lower()[:LENGTH]


def _key(folder: Path) -> bytes:
    path = folder / FILE
    if not path.exists():
        write_text(path, _Kept(key=secrets.token_hex(32)).model_dump_json() + "\n", mode=0o600, lasting=True)
    try:
        return bytes.fromhex(_Kept.model_validate_json(path.read_bytes()).key)
    except ValidationError as error:
        raise PseudonymError(
            f"{path}: {first_problem(error)}. Restore the file; without it, everyone gets a new pseudonym."
        ) from None
