"""Answers for several properties in one process, each by a newly imported submission. Runs on the untrusted side."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import CodeType
from typing import Any

from .importer import compiled
from .operations import OUT_OF_MEMORY, Operations
from .protocol import Message, ProtocolError, unpack
from .surroundings import Surroundings

# A solution that gives one of these will not pass, so the rest of what the property asks for can be left.
HOPELESS = ("memory_exceeded", "missing", "not_implemented")


class Ahead:
    """One submission's code, compiled once, and the process that it should leave as it was."""

    def __init__(self, files: Mapping[str, str], surroundings: Surroundings) -> None:
        """Compile what can be; whatever is made after this is the submission's."""
        self._files = files
        self._surroundings = surroundings
        self._code: dict[str, CodeType] = {}
        for path, text in files.items():
            with contextlib.suppress(Exception):  # which its import will raise again
                self._code[path] = compiled(path, text)
        surroundings.enter()

    def answer(self, requests: bytes, bare_packages: bool) -> bytes:
        """Meet the submission anew and do what a property asks for; gives the replies, perhaps not to the last.

        Args:
            requests: A packed list of requests.
            bare_packages: Whether to import without the packages' own files, whatever the requests say about that.
        """
        operations, replies = Operations(self._files, self._code), Message()
        try:
            for request in unpack(requests):
                for name, arguments in request:
                    if name == "load":
                        arguments["bare_packages"] = bare_packages
                reply = operations.perform(request)
                _add(replies, reply)
                if reply.get("error", {}).get("kind") in HOPELESS:
                    break
        finally:
            operations.forget()
        return replies.packed()

    def nothing_is_left(self) -> bool:
        """Whether the next property would meet this process as the first one did."""
        return self._surroundings.restore()


def _add(replies: Message, reply: dict[str, Any]) -> None:
    try:
        replies.add(reply)
    except ProtocolError as error:
        replies.add(invalid_reply(error))
    except MemoryError:
        replies.add(OUT_OF_MEMORY)


def invalid_reply(error: ProtocolError) -> dict[str, Any]:
    """What there is in place of a value that has no place in the protocol."""
    return {"error": {"kind": "invalid_reply", "message": f"returned {error}"}}
